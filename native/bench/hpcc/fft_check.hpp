// Verification of a transform without another transform.
//
// The backward transform reveals lost data, but not factors that are wrong in both directions. So the forward transform
// is checked separately: for any m, with z = exp(2 pi i (m + 1/2) / n), which is not an n-th root of unity,
//
//     sum over k of z^k X_k  =  sum over j of x_j 2 / (1 - exp(2 pi i (m + 1/2 - j) / n)),
//
// where the sum over k is a geometric series whose ratio has the n-th power -1. All weights on the left have modulus 1,
// so any wrong element changes the sum (a checksum as in J.-Y. Jou, J. Abraham, "Fault-tolerant FFT networks", IEEE
// Trans. Computers 37(5), 1988).
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bench/hpcc/roots.hpp"
#include "bench/hpcc/unit_roundoff.hpp"
#include "support/random.hpp"

namespace kiviat {

inline constexpr double fft_threshold = 16;  // threshold of HPC Challenge

// Element j of the input.
inline Complex fft_input(std::uint64_t seed, std::int64_t j) {
  const auto word = 2 * static_cast<std::uint64_t>(j);
  return {centred(random_at(seed, word)), centred(random_at(seed, word + 1))};
}

// Largest deviation of this rank's elements from the input, divided by ln n eps; `back`: unnormalised result of the
// backward transform. NaN counts as infinite.
inline double fft_residual(std::uint64_t seed, const Complex* back, std::int64_t begin, std::int64_t size,
                           std::int64_t n) {
  double worst = 0;
  for (std::int64_t j = 0; j < size; ++j) {
    const double off = std::abs(back[j] / static_cast<double>(n) - fft_input(seed, begin + j));
    worst = std::isfinite(off) ? std::max(worst, off) : INFINITY;
  }
  return worst / (std::log(static_cast<double>(n)) * unit_roundoff);
}

class FftChecksum {
 public:
  FftChecksum(std::int64_t n, std::int64_t m) : n_(n), m_(m) {
    for (std::int64_t i = 0; i < run; ++i)
      along_output_.push_back(output_root(i)), along_input_.push_back(input_root(m - i));
    const Complex start = std::conj(input_root(m));
    for (Complex& step : along_input_) step = times(step, start);  // for the elements after the first of a run
  }

  // This rank's contribution to the left side, the sum over the output; of_input() returns that to the right side.
  Complex of_output(const Complex* values, std::int64_t begin, std::int64_t size) const {
    Sum sum;
    for (std::int64_t first = 0; first < size; first += run) {
      Complex inner = 0;
      for (std::int64_t i = 0; i < std::min(run, size - first); ++i)
        inner += times(values[first + i], along_output_[static_cast<std::size_t>(i)]);
      sum.add(times(inner, output_root(begin + first)));
    }
    return sum.value();
  }
  Complex of_input(std::uint64_t seed, std::int64_t begin, std::int64_t size) const {
    constexpr double near = 0.05;  // below this, a sine computed as a difference loses digits
    Sum sum;
    for (std::int64_t first = 0; first < size; first += run) {
      const Complex start = input_root(m_ - begin - first);
      Complex inner = 0;
      for (std::int64_t i = 0; i < std::min(run, size - first); ++i) {
        Complex half = times(start, along_input_[static_cast<std::size_t>(i)]);
        if (std::abs(half.imag()) < near) half = input_root(m_ - begin - first - i);
        inner += times(fft_input(seed, begin + first + i), {1, half.real() / half.imag()});
      }
      sum.add(inner);
    }
    return sum.value();
  }

  // Difference of both sides divided by n ln n eps: about 1 if there are rounding errors only. Collective.
  double residual(MPI_Comm comm, const Complex& output, const Complex& input) const {
    const double mine[] = {output.real(), output.imag(), input.real(), input.imag()};
    double all[4];
    MPI_Allreduce(mine, all, 4, MPI_DOUBLE, MPI_SUM, comm);
    const double off = std::hypot(all[0] - all[2], all[1] - all[3]), n = static_cast<double>(n_);
    return std::isfinite(off) ? off / (n * std::log(n) * unit_roundoff) : INFINITY;
  }

 private:
  static constexpr std::int64_t run = 1024;

  // Compensated summation (A. Neumaier, ZAMM 54, 1974).
  class Sum {
   public:
    void add(const Complex& value) { add(real_, value.real()), add(imag_, value.imag()); }
    Complex value() const { return {real_.sum + real_.lost, imag_.sum + imag_.lost}; }

   private:
    struct Part {
      double sum = 0, lost = 0;
    };
    static void add(Part& part, double value) {
      const double sum = part.sum + value;
      part.lost += std::abs(part.sum) >= std::abs(value) ? part.sum - sum + value : value - sum + part.sum;
      part.sum = sum;
    }
    Part real_, imag_;
  };

  // exp(2 pi i (m + 1/2) k / n), the k-th power of z
  Complex output_root(std::int64_t k) const {
    const auto e = static_cast<__int128>(2 * m_ + 1) * k % (2 * n_);
    return root_of_unity(static_cast<std::int64_t>(e), 2 * n_);
  }
  // exp(2 pi i (d + 1/2) / (2 n)). The tangent of its angle yields the weights: 2 / (1 - exp(i a)) = 1 + i cot(a / 2)
  Complex input_root(std::int64_t d) const {
    const std::int64_t e = (2 * d + 1) % (4 * n_);
    return root_of_unity(e < 0 ? e + 4 * n_ : e, 4 * n_);
  }

  std::int64_t n_, m_;
  std::vector<Complex> along_output_, along_input_;
};

}  // namespace kiviat
