// Random numbers of the NAS Parallel Benchmarks: x <- 5^13 x mod 2^46; x 2^-46 is uniform in (0, 1).
// D. Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, 1994, section 2.3.
#pragma once

#include <cstdint>

namespace kiviat {

class Lcg {
 public:
  static constexpr std::uint64_t multiplier = 1220703125, mask = (std::uint64_t{1} << 46) - 1;

  // Seed of all programs except EP; the next function returns the seed of EP.
  static std::uint64_t usual_seed();
  static std::uint64_t seed_of_ep();

  // Returns multiplier^n mod 2^46, the factor that advances the generator by n steps.
  static constexpr std::uint64_t steps(std::uint64_t n) {
    std::uint64_t result = 1;
    for (std::uint64_t square = multiplier; n; n >>= 1, square = square * square & mask)
      if (n & 1) result = result * square & mask;
    return result;
  }

  // Generator with this seed that skips the first `skipped` numbers.
  constexpr explicit Lcg(std::uint64_t seed, std::uint64_t skipped = 0) : state_(seed * steps(skipped) & mask) {}

  constexpr double operator()() {
    state_ = state_ * multiplier & mask;
    return static_cast<double>(state_) * 0x1p-46;
  }
  constexpr std::uint64_t state() const { return state_; }  // the integer x of the last number

 private:
  std::uint64_t state_;
};

}  // namespace kiviat
