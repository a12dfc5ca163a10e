// Row exchange of an elimination step: all ranks of a grid column get the pivot rows, which become rows of U; the rows
// of the diagonal block that they replace go to the pivots' former places.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/hpcc/panel.hpp"
#include "support/failure.hpp"

namespace kiviat {

// exchange: recursive doubling, all data to all ranks in log2 steps. roll: displaced rows are sent directly to their
// new owners, rows of U circulate in a ring. library: MPI_Scatterv and MPI_Allgatherv.
enum class Swap { exchange, roll, library };
inline constexpr std::array swap_names = {"exchange", "roll", "library"};

inline Swap swap_named(std::string_view name) {
  for (std::size_t i = 0; i < swap_names.size(); ++i)
    if (swap_names[i] == name) return static_cast<Swap>(i);
  throw UsageError("swap is '" + std::string(name) + "': give exchange, roll or library");
}

// Sources and destinations of rows, computed from the pivots of a panel, for each rank of the grid column.
struct Interchange {
  struct Move {
    std::int64_t local, index;  // local row of the rank, and row of the diagonal block
  };
  std::vector<std::vector<Move>> to_top;    // for each rank: its row `local` becomes row `index` of U
  std::vector<std::vector<Move>> from_top;  // for each rank: row `index` of the diagonal block becomes its row `local`

  Interchange(const Panel& panel, const Cyclic& rows)
      : to_top(static_cast<std::size_t>(rows.parts)), from_top(to_top.size()) {
    std::vector<std::int64_t> on_top(panel.pivots.size());
    std::iota(on_top.begin(), on_top.end(), panel.first);
    std::map<std::int64_t, std::int64_t> elsewhere;  // new content of rows below the diagonal block
    for (std::size_t j = 0; j < on_top.size(); ++j) {
      const std::int64_t pivot = panel.pivots[j], within = pivot - panel.first;
      if (within < panel.width)
        std::swap(on_top[j], on_top[static_cast<std::size_t>(within)]);
      else
        std::swap(on_top[j], elsewhere.try_emplace(pivot, pivot).first->second);
    }
    const auto local = [&](std::int64_t row) {
      const std::int64_t block = row / rows.block;
      return block / rows.parts * rows.block + row % rows.block;
    };
    for (std::size_t i = 0; i < on_top.size(); ++i)
      to_top[static_cast<std::size_t>(rows.owner(on_top[i]))].push_back(
          {local(on_top[i]), static_cast<std::int64_t>(i)});
    for (const auto& [row, was] : elsewhere)
      from_top[static_cast<std::size_t>(rows.owner(row))].push_back({local(row), was - panel.first});
  }
};

// Lengths and offsets of the ranks' pieces in bytes. Used for `all`, whose pieces go to all ranks, and for `spread`,
// whose pieces go from the root to one rank each.
struct RowPieces {
  std::vector<int> bytes, at;
  explicit RowPieces(std::size_t ranks) : bytes(ranks), at(ranks) {}
  void lay_out() { std::exclusive_scan(bytes.begin(), bytes.end(), at.begin(), 0); }
  int begin(int rank) const { return at[static_cast<std::size_t>(rank)]; }
  int length(int rank) const { return bytes[static_cast<std::size_t>(rank)]; }
  int end(int rank) const { return begin(rank) + length(rank); }
};

class RowExchange {
 public:
  RowExchange(MPI_Comm grid_column, Swap swap) : comm_(grid_column), swap_(swap) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &ranks_);
  }

  // Every rank provides its own piece of `all` in place, `root` the whole of `spread`. Afterwards every rank has the
  // whole of `all`, and its own piece of `spread`, in place.
  void operator()(std::byte* all, const RowPieces& of_all, std::byte* spread, const RowPieces& of_spread,
                  int root) const {
    if (ranks_ == 1) return;
    switch (swap_) {
      case Swap::exchange:
        exchange(all, of_all, spread, of_spread.end(ranks_ - 1), root);
        break;
      case Swap::roll:
        roll(all, of_all, spread, of_spread, root);
        break;
      case Swap::library: {
        void* const mine = rank_ == root ? MPI_IN_PLACE : spread + of_spread.begin(rank_);
        MPI_Scatterv(spread, of_spread.bytes.data(), of_spread.at.data(), MPI_BYTE, mine, of_spread.length(rank_),
                     MPI_BYTE, root, comm_);
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, all, of_all.bytes.data(), of_all.at.data(), MPI_BYTE, comm_);
        break;
      }
    }
  }

 private:
  static constexpr int tag = 3;

  // Sends and receives non-empty parts to and from one rank. Each part has its own tag, because SMPI 3.32 lets short
  // messages overtake earlier long ones and then deadlocks.
  class Parts {
   public:
    Parts(MPI_Comm comm, int peer) : comm_(comm), peer_(peer) {}
    void send(const std::byte* from, int bytes) {
      if (bytes > 0) MPI_Isend(from, bytes, MPI_BYTE, peer_, tag + sent_++, comm_, &requests_.emplace_back());
    }
    void receive(std::byte* to, int bytes) {
      if (bytes > 0) MPI_Irecv(to, bytes, MPI_BYTE, peer_, tag + received_++, comm_, &requests_.emplace_back());
    }
    void wait() { MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE); }

   private:
    MPI_Comm comm_;
    int peer_, sent_ = 0, received_ = 0;  // sent_, received_: numbers of parts so far
    std::vector<MPI_Request> requests_;
  };

  // Recursive doubling among the first `even` ranks, the largest power of two; each further rank is represented by the
  // rank `even` before it.
  void exchange(std::byte* all, const RowPieces& of_all, std::byte* spread, int spread_bytes, int root) const {
    int even = 1;
    while (2 * even <= ranks_) even *= 2;
    const auto range = [&](int first, int last, const auto& move) {  // pieces of ranks first … last - 1
      if (first < last) move(all + of_all.begin(first), of_all.end(last - 1) - of_all.begin(first));
    };
    if (rank_ >= even) {
      Parts parts(comm_, rank_ - even);
      parts.send(all + of_all.begin(rank_), of_all.length(rank_));
      if (rank_ == root) parts.send(spread, spread_bytes);
      parts.wait();
      Parts answer(comm_, rank_ - even);
      range(0, rank_, [&](std::byte* at, int bytes) { answer.receive(at, bytes); });
      range(rank_ + 1, ranks_, [&](std::byte* at, int bytes) { answer.receive(at, bytes); });
      if (rank_ != root) answer.receive(spread, spread_bytes);
      answer.wait();
      return;
    }
    const int beyond = rank_ + even;
    if (beyond < ranks_) {
      Parts parts(comm_, beyond);
      parts.receive(all + of_all.begin(beyond), of_all.length(beyond));
      if (beyond == root) parts.receive(spread, spread_bytes);
      parts.wait();
    }
    const int speaker = root % even;
    for (int size = 1; size < even; size *= 2) {
      const int mine = rank_ / size * size, theirs = mine ^ size;
      Parts parts(comm_, rank_ ^ size);
      const auto sent = [&](std::byte* at, int bytes) { parts.send(at, bytes); };
      const auto received = [&](std::byte* at, int bytes) { parts.receive(at, bytes); };
      range(mine, mine + size, sent), range(theirs, theirs + size, received);
      const auto beyond_of = [&](int first, const auto& move) {
        range(first + even, std::min(first + size + even, ranks_), move);
      };
      beyond_of(mine, sent), beyond_of(theirs, received);
      if (speaker / size * size == mine) parts.send(spread, spread_bytes);
      if (speaker / size * size == theirs) parts.receive(spread, spread_bytes);
      parts.wait();
    }
    if (beyond < ranks_) {
      Parts parts(comm_, beyond);
      range(0, beyond, [&](std::byte* at, int bytes) { parts.send(at, bytes); });
      range(beyond + 1, ranks_, [&](std::byte* at, int bytes) { parts.send(at, bytes); });
      if (beyond != root) parts.send(spread, spread_bytes);
      parts.wait();
    }
  }

  void roll(std::byte* all, const RowPieces& of_all, std::byte* spread, const RowPieces& of_spread, int root) const {
    std::vector<MPI_Request> requests;
    if (rank_ == root) {
      for (int distance = 1; distance < ranks_; ++distance) {
        const int to = (root + distance) % ranks_;
        if (of_spread.length(to) > 0)
          MPI_Isend(spread + of_spread.begin(to), of_spread.length(to), MPI_BYTE, to, tag, comm_,
                    &requests.emplace_back());
      }
    } else if (of_spread.length(rank_) > 0) {
      MPI_Irecv(spread + of_spread.begin(rank_), of_spread.length(rank_), MPI_BYTE, root, tag, comm_,
                &requests.emplace_back());
    }
    const int right = (rank_ + 1) % ranks_, left = (rank_ + ranks_ - 1) % ranks_;
    for (int step = 0; step + 1 < ranks_; ++step) {
      const int out = (rank_ + ranks_ - step) % ranks_, in = (left + ranks_ - step) % ranks_;
      MPI_Sendrecv(all + of_all.begin(out), of_all.length(out), MPI_BYTE, right, tag + 1, all + of_all.begin(in),
                   of_all.length(in), MPI_BYTE, left, tag + 1, comm_, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

  MPI_Comm comm_;
  Swap swap_;
  int rank_, ranks_;
};

}  // namespace kiviat
