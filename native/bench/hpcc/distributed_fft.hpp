// One-dimensional transforms of n = n1 n2 elements over any number of ranks, with input and output in natural order, by
// the six steps of D. Bailey, "FFTs in external or hierarchical memory", J. Supercomputing 4, 1990. Input elements have
// the index j1 n2 + j2, output elements k1 + n1 k2.
//
//     1. an exchange gathers columns j2
//     2. transforms of length n1 over j1
//     3. factors exp(+-2 pi i j2 k1 / n)
//     4. an exchange gathers rows k1
//     5. transforms of length n2 over j2
//     6. an exchange gathers rows k2
//
// Each step works on slabs of columns that stay in the cache; the messages of some slabs are in flight while others are
// computed. Data is copied only into and out of messages: steps 3, 5 and 6 write send buffers, and messages of step 4
// arrive at their final place. With one rank the same steps are an algorithm for hierarchical memory.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "bench/hpcc/roots.hpp"
#include "kernels/complex_kernels.hpp"
#include "kernels/fftw.hpp"
#include "kernels/huge_pages.hpp"
#include "platform/compute.hpp"
#include "platform/rank_group.hpp"
#include "support/failure.hpp"

namespace kiviat {

struct FftShape {
  std::int64_t n1, n2;
  std::int64_t n() const { return n1 * n2; }
  FftShape swapped() const { return {n2, n1}; }  // shape of the backward transform
};

// Part `mine` of `total` items, divided into parts that differ by at most one item.
struct FftShare {
  std::int64_t begin, size;
  std::int64_t end() const { return begin + size; }
};
inline FftShare share_of(std::int64_t total, int parts, int mine) {
  const std::int64_t begin = total * mine / parts;
  return {begin, total * (mine + 1) / parts - begin};
}

struct FftTuning {
  std::int64_t columns = 8;   // width of a block: number of transforms in the cache together
  std::int64_t blocks = 1;    // width of a slab in blocks; each message carries one slab
  int ahead = 2;              // number of slabs whose messages are in flight while one is computed
  bool in_steps = false;      // exchange in synchronised steps: in step k with the k-th next rank only
  Reuse reuse = Reuse::late;  // of data that stays on this rank: `soon` if all of it fits into the cache
};

// Columns (or rows) divided among parts, and each part divided into slabs.
class Slabs {
 public:
  Slabs(std::int64_t total, int parts, std::int64_t width)
      : total_(total), parts_(parts), width_(std::clamp<std::int64_t>(width, 1, most())) {}
  std::int64_t most() const { return std::max<std::int64_t>(1, (total_ + parts_ - 1) / parts_); }
  std::int64_t width() const { return width_; }
  std::int64_t count() const { return (most() + width_ - 1) / width_; }
  FftShare of(int part, std::int64_t slab) const {
    const FftShare all = share_of(total_, parts_, part);
    const std::int64_t begin = std::min(slab * width_, all.size);
    return {all.begin + begin, std::min(width_, all.size - begin)};
  }

 private:
  std::int64_t total_;
  int parts_;
  std::int64_t width_;
};

class DistributedFft {
 public:
  DistributedFft(MPI_Comm comm, FftShape shape, int sign, const FftTuning& tuning)
      : comm_(comm),
        parts_(size_of(comm)),
        me_(rank_of(comm)),
        shape_(shape),
        sign_(sign),
        tuning_(tuning),
        mine1_(share_of(shape.n1, parts_, me_)),
        mine2_(share_of(shape.n2, parts_, me_)),
        columns_(shape.n2, parts_, tuning.columns * tuning.blocks),
        rows_(shape.n1, parts_, tuning.columns * tuning.blocks),
        slots_(tuning.ahead + 1),
        in_(static_cast<std::size_t>(slots_)),
        out_(in_),
        result_(in_) {}

  // Number of elements that the caller must provide, equal on all ranks: for the data, and (work_elements) for working
  // memory that need not be preserved between transforms.
  std::int64_t data_elements() const { return std::max(rows_.most() * shape_.n2, columns_.most() * shape_.n1); }
  std::int64_t work_elements() const {
    return rows_.most() * shape_.n2 + slots_ * (in_elements() + out_elements() + result_elements()) +
           2 * block_elements();
  }
  // Number of elements of the table of factors.
  std::int64_t table_elements() const { return shape_.n1 * block_width(); }
  // This rank's range of the n elements, before and after the transform.
  FftShare before() const { return {mine1_.begin * shape_.n2, mine1_.size * shape_.n2}; }
  FftShare after() const { return {mine2_.begin * shape_.n1, mine2_.size * shape_.n1}; }

  // Creates plans and tables; must be called once before any transform. Overwrites the memory. Without `fftw` nothing
  // is computed, as in simulations without payload. Throws Skip if the library does not support the length.
  void prepare(Complex* data, Complex* work, const Fftw* fftw, Planning planning) {
    data_ = data, middle_ = work;
    in_memory_ = middle_ + rows_.most() * shape_.n2;
    out_memory_ = in_memory_ + slots_ * in_elements();
    result_memory_ = out_memory_ + slots_ * out_elements();
    gathered_ = result_memory_ + slots_ * result_elements();
    block_ = gathered_ + block_elements();
    if (tuning_.in_steps && parts_ > 1) steps_.emplace(comm_);
    if (!fftw) return;
    for (const std::int64_t w : widths(mine2_.size, columns_.width()))
      over_columns_[w] = planned(*fftw, {shape_.n1, w, w, 1, 1, shape_.n1 + padding}, gathered_, planning);
    for (const std::int64_t w : widths(mine1_.size, rows_.width()))
      over_rows_[w] = planned(*fftw, {shape_.n2, w, 1, shape_.n2 + padding, 1, shape_.n2 + padding}, block_, planning);
    const Roots roots(shape_.n());
    const std::int64_t w = block_width();
    factors_.resize(static_cast<std::size_t>(shape_.n1 * w));
    for (std::int64_t k = 0; k < shape_.n1; ++k)
      for (std::int64_t b = 0; b < w; ++b)
        factors_[static_cast<std::size_t>(k * w + b)] = factor(roots, k * b % shape_.n());
    roots_ = roots;
  }

  // Transforms the data, n1 / ranks rows of n2 elements before and n2 / ranks rows of n1 afterwards. Collective.
  void operator()() {
    columns_to_rows();
    rows_to_result();
  }

 private:
  // Elements between rows that are processed together, so that they do not map to the same cache sets.
  static constexpr std::int64_t padding = 4;
  struct Requests {
    std::vector<MPI_Request> sent, received;
  };

  static int size_of(MPI_Comm comm) {
    int size;
    MPI_Comm_size(comm, &size);
    return size;
  }
  static int rank_of(MPI_Comm comm) {
    int rank;
    MPI_Comm_rank(comm, &rank);
    return rank;
  }

  std::int64_t block_width() const { return std::min(tuning_.columns, std::max(columns_.width(), rows_.width())); }
  std::int64_t in_elements() const {
    return std::max(shape_.n1 * columns_.width(), columns_.most() * parts_ * rows_.width());
  }
  std::int64_t out_elements() const { return parts_ > 1 ? rows_.most() * parts_ * columns_.width() : 0; }
  std::int64_t result_elements() const {
    return parts_ > 1 ? std::max(shape_.n1 * columns_.width(), shape_.n2 * rows_.width()) : 0;
  }
  std::int64_t block_elements() const { return block_width() * (std::max(shape_.n1, shape_.n2) + padding); }

  // Widths of blocks that occur if `size` columns are divided into slabs of `slab`.
  std::vector<std::int64_t> widths(std::int64_t size, std::int64_t slab) const {
    std::vector<std::int64_t> found;
    for (const std::int64_t s : {std::min(size, slab), size % slab})
      for (const std::int64_t w : {std::min(s, tuning_.columns), s % tuning_.columns})
        if (w > 0) found.push_back(w);
    return found;
  }

  LocalFft planned(const Fftw& fftw, const Transforms& what, Complex* in, Planning planning) {
    LocalFft plan(fftw, what, in, block_, sign_, planning);
    if (!plan)
      throw Skip("the FFT library cannot plan a transform of length " + std::to_string(what.n) + ": give another n");
    return plan;
  }

  Complex factor(const Roots& roots, std::int64_t e) const { return sign_ < 0 ? std::conj(roots(e)) : roots(e); }

  // Calls visit(offset, width) for each block of a slab.
  template <class Visit>
  void for_blocks(std::int64_t width, Visit visit) const {
    for (std::int64_t at = 0; at < width; at += tuning_.columns) visit(at, std::min(tuning_.columns, width - at));
  }
  template <class Visit>
  void for_others(Visit visit) const {
    for (int k = 1; k < parts_; ++k) visit((me_ + k) % parts_, (me_ - k + parts_) % parts_);
  }

  void receive(Requests& requests, Complex* at, std::int64_t elements, int from, int tag) {
    if (elements > 0)
      MPI_Irecv(at, static_cast<int>(elements * 16), MPI_BYTE, from, tag, comm_, &requests.received.emplace_back());
  }
  void send(Requests& requests, const Complex* at, std::int64_t elements, int to, int tag) {
    if (elements > 0)
      MPI_Isend(at, static_cast<int>(elements * 16), MPI_BYTE, to, tag, comm_, &requests.sent.emplace_back());
  }
  static void wait(std::vector<MPI_Request>& requests) {
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    requests.clear();
  }
  // Calls send(rank) for all other ranks. With in_steps, receives are posted here by `expect`; otherwise the caller has
  // posted them.
  template <class Expect, class Send>
  void exchange(Requests& in, Requests& out, Expect expect, Send send) {
    for_others([&](int to, int from) {
      if (tuning_.in_steps) steps_->barrier(), expect(from);
      send(to);
      if (tuning_.in_steps) wait(in.received), wait(out.sent);
    });
  }

  // --- steps 1 to 4 -----------------------------------------------------------------------------

  void columns_to_rows() {
    const std::int64_t slabs = columns_.count();
    Requests middle;
    if (!tuning_.in_steps)
      for (std::int64_t slab = 0; slab < slabs; ++slab)
        for_others([&](int, int from) { receive_rows(middle, from, slab); });
    for (std::int64_t slab = 0; slab < slabs + tuning_.ahead; ++slab) {
      if (slab < slabs) exchange_columns(slab);
      if (slab >= tuning_.ahead) transform_columns(slab - tuning_.ahead, middle);
    }
    wait(middle.received);
    for (int slot = 0; slot < slots_; ++slot)
      wait(out_[static_cast<std::size_t>(slot)].sent), wait(result_[static_cast<std::size_t>(slot)].sent);
  }

  // Sends the columns of every rank's slab that lie in this rank's rows. A message has one block after the other, each
  // by rows.
  void exchange_columns(std::int64_t slab) {
    const std::int64_t slot = slab % slots_;
    Requests &out = out_[static_cast<std::size_t>(slot)], &in = in_[static_cast<std::size_t>(slot)];
    wait(out.sent);
    Complex *const into = in_memory_ + slot * in_elements(), *const from = out_memory_ + slot * out_elements();
    const std::int64_t mine = columns_.of(me_, slab).size;
    const auto expect = [&](int source) { receive_columns(in, into, source, mine); };
    if (!tuning_.in_steps) for_others([&](int, int source) { expect(source); });
    std::int64_t width = 0;
    for (int part = 0; part < parts_; ++part) width += columns_.of(part, slab).size;
    work::run({.bytes = 32.0 * static_cast<double>(mine1_.size * width)}, [&] {
      cut_columns(into + mine1_.begin * mine, columns_.of(me_, slab));
      Complex* at = from;
      for_others([&](int to, int) {
        cut_columns(at, columns_.of(to, slab));
        at += mine1_.size * columns_.of(to, slab).size;
      });
    });
    const Complex* at = from;
    exchange(in, out, expect, [&](int to) {
      const std::int64_t elements = mine1_.size * columns_.of(to, slab).size;
      send(out, at, elements, to, 1);
      at += elements;
    });
  }

  // Posts the receive for rank `from`'s part of this rank's rows after step 3.
  void receive_rows(Requests& requests, int from, std::int64_t slab) {
    const FftShare columns = columns_.of(from, slab);
    receive(requests, middle_ + mine1_.size * columns.begin, mine1_.size * columns.size, from, 2);
  }

  void receive_columns(Requests& requests, Complex* into, int from, std::int64_t width) {
    const FftShare rows = share_of(shape_.n1, parts_, from);
    receive(requests, into + rows.begin * width, rows.size * width, from, 1);
  }

  void cut_columns(Complex* to, FftShare columns) const {
    for_blocks(columns.size, [&](std::int64_t at, std::int64_t w) {
      copy_runs(to, data_ + columns.begin + at, {mine1_.size, w, shape_.n2, w}, Reuse::soon);
      to += mine1_.size * w;
    });
  }

  void transform_columns(std::int64_t slab, Requests& middle) {
    const std::int64_t slot = slab % slots_;
    const FftShare mine = columns_.of(me_, slab);
    wait(in_[static_cast<std::size_t>(slot)].received);
    Requests& result = result_[static_cast<std::size_t>(slot)];
    wait(result.sent);
    Complex *const in = in_memory_ + slot * in_elements(), *const out = result_memory_ + slot * result_elements();
    const double elements = static_cast<double>(shape_.n1 * mine.size);
    work::run({.flops = elements * (5 * std::log2(static_cast<double>(shape_.n1)) + 12), .bytes = 32 * elements}, [&] {
      for_blocks(mine.size, [&](std::int64_t at, std::int64_t w) {
        over_columns_.at(w)(columns_together(in, mine.size, at, w), block_);
        for (int part = 0; part < parts_; ++part) {
          const FftShare rows = share_of(shape_.n1, parts_, part);
          if (part == me_)
            multiply_and_turn(middle_ + rows.size * (mine.begin + at), rows, mine.begin + at, w, tuning_.reuse);
          else
            multiply_and_turn(out + rows.begin * mine.size + rows.size * at, rows, mine.begin + at, w, Reuse::soon);
        }
      });
    });
    exchange(
        middle, result, [&](int from) { receive_rows(middle, from, slab); },
        [&](int to) {
          const FftShare rows = share_of(shape_.n1, parts_, to);
          send(result, out + rows.begin * mine.size, rows.size * mine.size, to, 2);
        });
  }

  // Returns the columns of one block as one array: gathers the parts that the ranks have sent. If messages consist of
  // one block, they already form one array.
  Complex* columns_together(Complex* in, std::int64_t width, std::int64_t at, std::int64_t w) const {
    if (parts_ == 1 || w == width) return in + shape_.n1 * at;
    for (int part = 0; part < parts_; ++part) {
      const FftShare rows = share_of(shape_.n1, parts_, part);
      std::memcpy(gathered_ + rows.begin * w, in + rows.begin * width + rows.size * at,
                  static_cast<std::size_t>(rows.size * w) * sizeof(Complex));
    }
    return gathered_;
  }

  // Multiplies rows k1 of the transformed block by their factors and transposes them; its columns start at `column`.
  void multiply_and_turn(Complex* to, FftShare rows, std::int64_t column, std::int64_t w, Reuse reuse) const {
    constexpr std::int64_t some = 64;
    Complex coarse[some];
    const std::int64_t n = shape_.n();
    auto e = static_cast<std::int64_t>(static_cast<__int128>(rows.begin) * column % n);
    for (std::int64_t k = rows.begin; k < rows.end(); k += some) {
      const std::int64_t count = std::min(some, rows.end() - k);
      for (std::int64_t i = 0; i < count; ++i) {
        coarse[i] = factor(roots_, e);
        e += column;
        if (e >= n) e -= n;
      }
      turn_times(to, block_ + k, shape_.n1 + padding, count, w, coarse,
                 &factors_[static_cast<std::size_t>(k * block_width())], block_width(), reuse);
      to += count * w;
    }
  }

  // --- steps 5 and 6 ----------------------------------------------------------------------------

  void rows_to_result() {
    const std::int64_t slabs = rows_.count();
    for (std::int64_t slab = 0; slab < slabs + tuning_.ahead; ++slab) {
      if (slab < slabs) transform_rows(slab);
      if (slab >= tuning_.ahead) place_rows(slab - tuning_.ahead);
    }
    all_written();
    for (int slot = 0; slot < slots_; ++slot) wait(result_[static_cast<std::size_t>(slot)].sent);
  }

  // Address of the message from a rank within a slab; messages are ordered by rank.
  Complex* row_message(Complex* memory, std::int64_t slab, int from) const {
    for (int part = 0; part < from; ++part)
      if (part != me_) memory += mine2_.size * rows_.of(part, slab).size;
    return memory;
  }

  void transform_rows(std::int64_t slab) {
    const std::int64_t slot = slab % slots_;
    const FftShare mine = rows_.of(me_, slab);
    Requests &in = in_[static_cast<std::size_t>(slot)], &result = result_[static_cast<std::size_t>(slot)];
    Complex *const into = in_memory_ + slot * in_elements(), *const out = result_memory_ + slot * result_elements();
    const auto expect = [&](int from) {
      receive(in, row_message(into, slab, from), mine2_.size * rows_.of(from, slab).size, from, 3);
    };
    if (!tuning_.in_steps) for_others([&](int, int from) { expect(from); });
    wait(result.sent);
    const double elements = static_cast<double>(shape_.n2 * mine.size);
    work::run({.flops = elements * 5 * std::log2(static_cast<double>(shape_.n2)), .bytes = 32 * elements}, [&] {
      for_blocks(mine.size, [&](std::int64_t at, std::int64_t w) {
        rows_together(mine.begin - mine1_.begin + at, w);
        over_rows_.at(w)(block_, block_);
        for (int part = 0; part < parts_; ++part) {
          const FftShare to = share_of(shape_.n2, parts_, part);
          const std::int64_t line = shape_.n2 + padding;
          if (part == me_)
            turn(data_ + mine.begin + at, shape_.n1, block_ + to.begin, line, to.size, w, tuning_.reuse);
          else
            turn(out + to.begin * mine.size + to.size * at, w, block_ + to.begin, line, to.size, w, Reuse::soon);
        }
      });
    });
    exchange(in, result, expect, [&](int to) {
      const FftShare rows = share_of(shape_.n2, parts_, to);
      send(result, out + rows.begin * mine.size, rows.size * mine.size, to, 3);
    });
  }

  // Gathers this rank's rows from `row` on from the blocks of columns in which they were received.
  void rows_together(std::int64_t row, std::int64_t w) const {
    const std::int64_t line = shape_.n2 + padding;
    for (int part = 0; part < parts_; ++part)
      for (std::int64_t slab = 0; slab < columns_.count(); ++slab) {
        const FftShare columns = columns_.of(part, slab);
        for_blocks(columns.size, [&](std::int64_t at, std::int64_t wide) {
          const Complex* from = middle_ + mine1_.size * (columns.begin + at) + row * wide;
          copy_runs(block_ + columns.begin + at, from, {w, wide, wide, line}, Reuse::soon, from + mine1_.size * wide);
        });
      }
  }

  void place_rows(std::int64_t slab) {
    const std::int64_t slot = slab % slots_;
    wait(in_[static_cast<std::size_t>(slot)].received);
    const Complex* from = in_memory_ + slot * in_elements();
    std::int64_t width = 0;
    for (int part = 0; part < parts_; ++part)
      if (part != me_) width += rows_.of(part, slab).size;
    work::run({.bytes = 32.0 * static_cast<double>(mine2_.size * width)}, [&] {
      for (int part = 0; part < parts_; ++part) {
        if (part == me_) continue;
        const FftShare rows = rows_.of(part, slab);
        for_blocks(rows.size, [&](std::int64_t at, std::int64_t w) {
          copy_runs(data_ + rows.begin + at, from, {mine2_.size, w, w, shape_.n1}, tuning_.reuse);
          from += mine2_.size * w;
        });
      }
    });
  }

  MPI_Comm comm_;
  std::optional<RankGroup> steps_;
  int parts_, me_;
  FftShape shape_;
  int sign_;
  FftTuning tuning_;
  FftShare mine1_, mine2_;
  Slabs columns_, rows_;
  int slots_;
  std::vector<Requests> in_, out_, result_;
  Complex *data_ = nullptr, *middle_ = nullptr, *in_memory_ = nullptr, *out_memory_ = nullptr,
          *result_memory_ = nullptr, *gathered_ = nullptr, *block_ = nullptr;
  std::map<std::int64_t, LocalFft> over_columns_, over_rows_;  // plans by width of a block
  std::vector<Complex> factors_;                               // factor for each row k1 and column of a block
  Roots roots_{1};
};

}  // namespace kiviat
