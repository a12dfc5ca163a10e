// C <- alpha A B + beta C of square matrices, and its verification.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "bench/hpcc/unit_roundoff.hpp"
#include "kernels/blas.hpp"
#include "support/random.hpp"

namespace kiviat {

class Product {
 public:
  static constexpr double alpha = 0.75, beta = -0.5;

  // Number of doubles of memory needed.
  static std::int64_t doubles(std::int64_t n) { return 3 * n * n + 4 * n; }

  Product(std::int64_t n, std::uint64_t seed, double* memory) : n_(n), seed_(seed) {
    double* at = memory;
    for (double** matrix : {&a_, &b_, &c_}) *matrix = at, at += n * n;
    for (double** vector : {&x_, &bx_, &expected_, &sums_}) *vector = at, at += n;
  }

  void generate(int threads) {
    const auto words = static_cast<std::int64_t>(n_ * n_);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (std::int64_t i = 0; i < words; ++i) a_[i] = element(0, i), b_[i] = element(1, i), c_[i] = element(2, i);
  }
  void multiply(const Blas& blas) { blas.gemm(n_, n_, n_, alpha, a_, n_, b_, n_, beta, c_, n_); }
  double flops() const { return 2 * static_cast<double>(n_) * static_cast<double>(n_) * static_cast<double>(n_); }
  double bytes() const { return 4 * 8 * static_cast<double>(n_) * static_cast<double>(n_); }
  std::span<double> c() { return {c_, static_cast<std::size_t>(n_ * n_)}; }

  // |(alpha A B + beta C0) x - C x| / (|C| |x| n eps) in the maximum norm, computed by matrix-vector products; below 16
  // is correct. All elements of x are large enough for every element of C to matter.
  double residual() {
    for (std::int64_t i = 0; i < n_; ++i)
      x_[i] = 1 + centred(random_at(seed_, static_cast<std::uint64_t>(4 * n_ * n_ + i)));
    std::fill_n(bx_, n_, 0), std::fill_n(expected_, n_, 0), std::fill_n(sums_, n_, 0);
    add_product(1, b_, x_, bx_);
    add_product(alpha, a_, bx_, expected_);
    double norm_x = 0, norm_c = 0, difference = 0;
    for (std::int64_t j = 0; j < n_; ++j) {
      norm_x = std::max(norm_x, x_[j]);
      for (std::int64_t i = 0; i < n_; ++i) {
        const double now = c_[j * n_ + i];
        expected_[i] += (beta * element(2, j * n_ + i) - now) * x_[j];
        sums_[i] += std::abs(now);
      }
    }
    for (std::int64_t i = 0; i < n_; ++i) {
      if (!std::isfinite(expected_[i]) || !std::isfinite(sums_[i])) return NAN;
      difference = std::max(difference, std::abs(expected_[i])), norm_c = std::max(norm_c, sums_[i]);
    }
    const double unit = norm_c * norm_x * static_cast<double>(n_) * unit_roundoff;
    return difference == 0 ? 0 : difference / unit;
  }

 private:
  double element(std::int64_t matrix, std::int64_t index) const {
    return centred(random_at(seed_, static_cast<std::uint64_t>(matrix * n_ * n_ + index)));
  }
  void add_product(double factor, const double* matrix, const double* vector, double* sum) const {
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = 0; i < n_; ++i) sum[i] += factor * matrix[j * n_ + i] * vector[j];
  }

  std::int64_t n_;
  std::uint64_t seed_;
  double *a_, *b_, *c_, *x_, *bx_, *expected_, *sums_;
};

}  // namespace kiviat
