// The three arrays of STREAM, the loops over them, and their expected contents.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "kernels/huge_pages.hpp"
#include "kernels/stream_kernels.hpp"
#include "support/random.hpp"

namespace kiviat {

enum class StreamLoop { copy, scale, add, triad };

struct StreamLoopTraits {
  StreamLoop loop;
  const char* name;
  double bytes, flops;  // per element, as STREAM counts
};
inline constexpr std::array<StreamLoopTraits, 4> stream_loops = {{{StreamLoop::copy, "copy", 16, 0},
                                                                  {StreamLoop::scale, "scale", 16, 1},
                                                                  {StreamLoop::add, "add", 24, 1},
                                                                  {StreamLoop::triad, "triad", 24, 2}}};

// Layout of the arrays in a given memory. Arrays at a distance of whole pages would conflict on processors that compare
// only the lower bits of addresses.
struct StreamLayout {
  explicit StreamLayout(std::size_t bytes) {
    const std::size_t apart = bytes > (3 << 20) ? 5 * 256 : 0;
    count = (bytes / 3 - apart) / (line * sizeof(double)) * line;
    stride = count + apart / sizeof(double);
  }
  static constexpr std::size_t line = 8;  // elements of a cache line
  std::size_t count, stride;              // elements of an array, and distance between arrays in elements
};

class StreamArrays {
 public:
  static constexpr double factor = 3;
  static constexpr double most_error = 1e-13;  // limit of STREAM's check for 8-byte numbers

  // The arrays have the elements from `first` on of the arrays of all ranks together.
  StreamArrays(double* memory, const StreamLayout& layout, int threads, std::uint64_t seed, std::uint64_t first)
      : a_(memory),
        b_(memory + layout.stride),
        c_(memory + 2 * layout.stride),
        count_(layout.count),
        threads_(threads),
        seed_(seed),
        first_(first) {}

  std::size_t count() const { return count_; }

  // Each thread initialises the part that it works on, which places it in near memory (first touch).
  void fill() {
    in_parts(count_, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) a_[i] = initial(i), b_[i] = 2, c_[i] = 0;
    });
    rounds_ = 0;
  }

  // Executes a loop on the first `count` elements.
  void run(StreamLoop loop, const StreamKernels& kernels, std::size_t count) {
    in_parts(count, [&](std::size_t begin, std::size_t end) {
      const std::size_t n = end - begin;
      switch (loop) {
        case StreamLoop::copy:
          return kernels.copy(c_ + begin, a_ + begin, n);
        case StreamLoop::scale:
          return kernels.scale(b_ + begin, c_ + begin, factor, n);
        case StreamLoop::add:
          return kernels.add(c_ + begin, a_ + begin, b_ + begin, n);
        case StreamLoop::triad:
          return kernels.triad(a_ + begin, b_ + begin, c_ + begin, factor, n);
      }
    });
    if (loop == StreamLoop::triad) ++rounds_;
  }

  // Mean relative error of each array, if all four loops have run equally often. Expected values are linear in the
  // initial array.
  std::array<double, 3> errors() const {
    double a = 1, b = 0, c = 0;
    for (int round = 0; round < rounds_; ++round) c = a, b = factor * c, c = a + b, a = b + factor * c;
    double off_a = 0, off_b = 0, off_c = 0;
#pragma omp parallel for num_threads(threads_) reduction(+ : off_a, off_b, off_c) if (threads_ > 1)
    for (std::size_t i = 0; i < count_; ++i) {
      const double start = initial(i);
      off_a += std::abs(a_[i] / (a * start) - 1);
      off_b += std::abs(b_[i] / (b * start) - 1);
      off_c += std::abs(c_[i] / (c * start) - 1);
    }
    const double n = static_cast<double>(count_);
    return {off_a / n, off_b / n, off_c / n};
  }

  double* a() { return a_; }

 private:
  double initial(std::size_t i) const { return 1.5 + centred(random_at(seed_, first_ + i)); }

  // Calls part(begin, end) on each thread; parts are whole cache lines.
  template <class Part>
  void in_parts(std::size_t count, Part part) {
    if (threads_ == 1) return part(std::size_t{0}, count);
    const std::size_t lines = count / StreamLayout::line, threads = static_cast<std::size_t>(threads_);
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
    for (std::size_t thread = 0; thread < threads; ++thread)
      part(lines * thread / threads * StreamLayout::line, lines * (thread + 1) / threads * StreamLayout::line);
  }

  double *a_, *b_, *c_;
  std::size_t count_;
  int threads_, rounds_ = 0;
  std::uint64_t seed_, first_;
};

}  // namespace kiviat
