// C <- C + A^T, both distributed block-cyclically over the same grid of ranks. Block (I, J) of A belongs to rank (I mod
// p, J mod q), and its transpose to rank (J mod p, I mod q): two ranks exchange the blocks for which I and J each form
// an arithmetic progression with step lcm(p, q) (J. Choi, J. Dongarra, D. Walker, "Parallel matrix transpose algorithms
// on distributed memory concurrent computers", Parallel Computing 21, 1995). Messages are divided into pieces that are
// packed, moved and added within the caches.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "bench/hpcc/block_cyclic.hpp"
#include "kernels/transpose.hpp"
#include "platform/compute.hpp"

namespace kiviat {

struct BlockMatrix {
  std::int64_t order, block;
  GridShape grid;
  int rank;

  int row_of(int r) const { return r / grid.columns; }
  int column_of(int r) const { return r % grid.columns; }
  Cyclic rows() const { return {order, block, grid.rows, row_of(rank)}; }
  Cyclic columns() const { return {order, block, grid.columns, column_of(rank)}; }
  // Distance between columns in elements; padded, because power-of-two distances would map columns to the same cache
  // sets.
  std::int64_t stride() const { return (rows().size() + 7) / 8 * 8 + 8; }
  std::int64_t elements() const { return stride() * columns().size(); }
};

class Transposition {
 public:
  // A part of a message: rows of A that become columns of C, and columns that become rows.
  struct Segment {
    std::int64_t from, to, width;  // first local index on the sender and on the receiver; number of indices
  };
  struct Piece {
    std::size_t first, end;  // range of its row segments
    std::int64_t rows;
  };
  struct Flow {
    int peer = 0;
    std::vector<Segment> rows, columns;
    std::int64_t all_columns = 0;
    std::vector<Piece> pieces;
    std::int64_t most_elements = 0;  // largest number of elements of a piece
  };

  // `buffer_bytes`: memory for messages in flight; a single longer message needs more.
  Transposition(MPI_Comm comm, const BlockMatrix& matrix, std::int64_t buffer_bytes) : comm_(comm), matrix_(matrix) {
    const int ranks = matrix.grid.rows * matrix.grid.columns;
    int partners = 0;
    for (int peer = 0; peer < ranks; ++peer) partners += is_partner(peer);
    const std::int64_t pieces = 2 * static_cast<std::int64_t>(depth) * std::max(1, partners);
    const std::int64_t piece_elements = std::clamp<std::int64_t>(buffer_bytes / 8 / pieces, 1, most_piece_elements);
    for (int peer = 0; peer < ranks; ++peer) {
      if (!is_partner(peer)) continue;
      Flow out = flow(matrix_, matrix_.rank, peer, piece_elements),
           in = flow(matrix_, peer, matrix_.rank, piece_elements);
      out.peer = in.peer = peer;
      if (peer == matrix_.rank) {
        own_ = std::move(out);
        continue;
      }
      if (!out.pieces.empty()) out_.emplace_back(std::move(out));
      if (!in.pieces.empty()) in_.emplace_back(std::move(in));
    }
    for (std::vector<Messages>* all : {&out_, &in_})
      for (Messages& messages : *all)
        messages.offset = buffer_elements_, buffer_elements_ += depth * messages.flow.most_elements;
  }

  std::int64_t buffer_elements() const { return buffer_elements_; }

  // Collective.
  void operator()(double* c, const double* a, double* buffers) {
    std::size_t steps = own_ ? own_->pieces.size() : 0;
    for (const Messages& messages : out_) steps = std::max(steps, messages.flow.pieces.size());
    for (const Messages& messages : in_) steps = std::max(steps, messages.flow.pieces.size());
    for (Messages& messages : in_)
      for (std::size_t piece = 0; piece < depth; ++piece) receive(messages, piece, buffers);
    for (std::size_t step = 0; step < steps + lag; ++step) {
      for (Messages& messages : out_) send(messages, step, a, buffers);
      if (own_ && step < own_->pieces.size()) add_own(own_->pieces[step], c, a);
      if (step < lag) continue;
      for (Messages& messages : in_) {
        add(messages, step - lag, c, buffers);
        receive(messages, step - lag + depth, buffers);
      }
    }
    for (Messages& messages : out_) MPI_Waitall(depth, messages.requests, MPI_STATUSES_IGNORE);
  }

  static Flow flow(const BlockMatrix& m, int sender, int receiver, std::int64_t piece_elements) {
    Flow flow;
    const std::int64_t blocks = m.rows().blocks(), p = m.grid.rows, q = m.grid.columns;
    const std::int64_t sender_row = m.row_of(sender), sender_column = m.column_of(sender),
                       receiver_row = m.row_of(receiver), receiver_column = m.column_of(receiver);
    for (std::int64_t b = 0; b < blocks; ++b)
      if (b % q == sender_column && b % p == receiver_row) {
        flow.columns.push_back({b / q * m.block, b / p * m.block, m.rows().width(b)});
        flow.all_columns += flow.columns.back().width;
      }
    if (flow.all_columns == 0) return flow;
    // A piece consists of whole cache lines if it has enough rows.
    std::int64_t most_rows = std::max<std::int64_t>(1, piece_elements / flow.all_columns);
    if (most_rows > 8) most_rows = most_rows / 8 * 8;
    for (std::int64_t b = 0; b < blocks; ++b)
      if (b % p == sender_row && b % q == receiver_column)
        for (std::int64_t done = 0, width = m.rows().width(b); done < width; done += most_rows)
          flow.rows.push_back({b / p * m.block + done, b / q * m.block + done, std::min(most_rows, width - done)});
    for (std::size_t first = 0; first < flow.rows.size();) {
      Piece piece{first, first, 0};
      while (piece.end < flow.rows.size() && piece.rows + flow.rows[piece.end].width <= most_rows)
        piece.rows += flow.rows[piece.end++].width;
      flow.pieces.push_back(piece);
      flow.most_elements = std::max(flow.most_elements, piece.rows * flow.all_columns);
      first = piece.end;
    }
    return flow;
  }

 private:
  static constexpr std::size_t depth = 4, lag = 1;  // pieces in flight per partner; steps between sending and adding
  static constexpr std::int64_t most_piece_elements = std::int64_t{1} << 17;

  struct Messages {
    explicit Messages(Flow f) : flow(std::move(f)) { std::ranges::fill(requests, MPI_REQUEST_NULL); }
    Flow flow;
    MPI_Request requests[depth];
    std::int64_t offset = 0;  // of its buffers in memory

    double* buffer(std::size_t piece, double* buffers) const {
      return buffers + offset + static_cast<std::int64_t>(piece % depth) * flow.most_elements;
    }
    std::int64_t elements(std::size_t piece) const { return flow.pieces[piece].rows * flow.all_columns; }
    int bytes(std::size_t piece) const {
      return static_cast<int>(elements(piece) * static_cast<std::int64_t>(sizeof(double)));
    }
    MPI_Request* request(std::size_t piece) { return &requests[piece % depth]; }
  };

  // Returns whether this rank exchanges any block with `peer`.
  bool is_partner(int peer) const {
    const int p = matrix_.grid.rows, q = matrix_.grid.columns, common = std::gcd(p, q);
    const int row = matrix_.row_of(matrix_.rank), column = matrix_.column_of(matrix_.rank);
    return (matrix_.row_of(peer) - column) % common == 0 && (matrix_.column_of(peer) - row) % common == 0;
  }

  void receive(Messages& in, std::size_t piece, double* buffers) {
    if (piece < in.flow.pieces.size())
      MPI_Irecv(in.buffer(piece, buffers), in.bytes(piece), MPI_BYTE, in.flow.peer, tag(piece), comm_,
                in.request(piece));
  }

  void send(Messages& out, std::size_t piece, const double* a, double* buffers) {
    if (piece >= out.flow.pieces.size()) return;
    MPI_Wait(out.request(piece), MPI_STATUS_IGNORE);
    double* const buffer = out.buffer(piece, buffers);
    const double elements = static_cast<double>(out.elements(piece));
    work::run({.bytes = 16 * elements}, [&] {
      const std::int64_t stride = matrix_.stride();
      std::int64_t column = 0;  // of C
      for_rows(out.flow, piece, [&](const Segment& rows) {
        std::int64_t row = 0;
        for (const Segment& columns : out.flow.columns) {
          transpose({buffer + column * out.flow.all_columns + row, size(out.flow.all_columns)},
                    {a + columns.from * stride + rows.from, size(stride)}, size(rows.width), size(columns.width));
          row += columns.width;
        }
        column += rows.width;
      });
    });
    MPI_Isend(buffer, out.bytes(piece), MPI_BYTE, out.flow.peer, tag(piece), comm_, out.request(piece));
  }

  void add(Messages& in, std::size_t piece, double* c, double* buffers) {
    if (piece >= in.flow.pieces.size()) return;
    MPI_Wait(in.request(piece), MPI_STATUS_IGNORE);
    const double elements = static_cast<double>(in.elements(piece));
    work::run({.flops = elements, .bytes = 24 * elements}, [&] {
      const double* come = in.buffer(piece, buffers);
      const std::int64_t stride = matrix_.stride();
      for_rows(in.flow, piece, [&](const Segment& rows) {
        for (std::int64_t i = 0; i < rows.width; ++i)
          for (const Segment& columns : in.flow.columns) {
            double* to = c + (rows.to + i) * stride + columns.to;
            for (std::int64_t j = 0; j < columns.width; ++j) to[j] += come[j];
            come += columns.width;
          }
      });
    });
  }

  void add_own(const Piece& piece, double* c, const double* a) {
    const double elements = static_cast<double>(piece.rows * own_->all_columns);
    work::run({.flops = elements, .bytes = 24 * elements}, [&] {
      const std::int64_t stride = matrix_.stride();
      for (std::size_t i = piece.first; i < piece.end; ++i)
        for (const Segment& columns : own_->columns) {
          const Segment& rows = own_->rows[i];
          add_transpose({c + rows.to * stride + columns.to, size(stride)},
                        {a + columns.from * stride + rows.from, size(stride)}, size(rows.width), size(columns.width));
        }
    });
  }

  template <class Do>
  static void for_rows(const Flow& flow, std::size_t piece, Do what) {
    for (std::size_t i = flow.pieces[piece].first; i < flow.pieces[piece].end; ++i) what(flow.rows[i]);
  }
  // Each piece in flight has its own tag, because SMPI 3.32 lets short messages overtake earlier long ones and then
  // deadlocks.
  static int tag(std::size_t piece) { return static_cast<int>(piece % 32'768); }
  static std::size_t size(std::int64_t number) { return static_cast<std::size_t>(number); }

  MPI_Comm comm_;
  BlockMatrix matrix_;
  std::optional<Flow> own_;
  std::vector<Messages> out_, in_;
  std::int64_t buffer_elements_ = 0;
};

}  // namespace kiviat
