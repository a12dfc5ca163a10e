// Roots of unity exp(2 pi i e / n), accurate to the last digit: sine and cosine are computed for angles up to pi / 4
// only.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "kernels/fftw.hpp"

namespace kiviat {

// Complex product without the library operator's handling of infinities.
inline Complex times(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Returns exp(2 pi i e / n) for 0 <= e < n, n up to 2^60.
inline Complex root_of_unity(std::int64_t e, std::int64_t n) {
  const std::int64_t octant = 8 * e / n, rest = 8 * e - octant * n;
  const bool back = octant % 2 != 0;  // mirrored at the end of the octant
  const double angle = std::numbers::pi / 4 * (static_cast<double>(back ? n - rest : rest) / static_cast<double>(n));
  const double c = std::cos(angle), s = back ? -std::sin(angle) : std::sin(angle);
  switch ((octant + 1) / 2 % 4) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

// Computes all n roots from two tables of about sqrt(n) entries; exponent e is high * 2^bits + low.
class Roots {
 public:
  explicit Roots(std::int64_t n)
      : bits_((std::bit_width(static_cast<std::uint64_t>(n)) + 1) / 2), mask_((std::int64_t{1} << bits_) - 1) {
    for (std::int64_t e = 0; e <= std::min(mask_, n - 1); ++e) low_.push_back(root_of_unity(e, n));
    for (std::int64_t e = 0; e < n; e += mask_ + 1) high_.push_back(root_of_unity(e, n));
  }
  Complex operator()(std::int64_t e) const {
    return times(high_[static_cast<std::size_t>(e >> bits_)], low_[static_cast<std::size_t>(e & mask_)]);
  }

 private:
  int bits_;
  std::int64_t mask_;
  std::vector<Complex> low_, high_;
};

}  // namespace kiviat
