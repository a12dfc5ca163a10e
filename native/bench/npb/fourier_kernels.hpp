// Kernels of FT besides the transforms: random numbers, and the decay of waves.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/complex_kernels.hpp"
#include "kernels/lcg.hpp"
#include "kernels/target_clones.hpp"

namespace kiviat::npb {
namespace {

// Writes `count` complex random numbers, made of numbers `first`, first + 1, … of the stream.
KIVIAT_EVERY_WIDTH
void random_elements(Complex* to, std::int64_t first, std::int64_t count) {
  // Several streams are generated side by side; each generates every `lanes`-th number.
  constexpr int lanes = 16;
  constexpr std::uint64_t all_lanes = Lcg::steps(lanes), two_to_52 = 0x4330000000000000;
  alignas(64) std::uint64_t states[lanes];
  Lcg stream(Lcg::usual_seed(), 2 * static_cast<std::uint64_t>(first));
  for (std::uint64_t& state : states) stream(), state = stream.state();
  double* const numbers = reinterpret_cast<double*>(to);
  std::int64_t i = 0;
  for (; i + lanes <= 2 * count; i += lanes)
    for (int lane = 0; lane < lanes; ++lane) {
      // Exact conversion to double: the integer is placed behind the leading bit of 2^52.
      numbers[i + lane] = (std::bit_cast<double>(states[lane] | two_to_52) - 0x1p52) * 0x1p-46;
      states[lane] = states[lane] * all_lanes & Lcg::mask;
    }
  for (int lane = 0; i < 2 * count; ++i, ++lane) numbers[i] = static_cast<double>(states[lane]) * 0x1p-46;
}

// Gathers `runs` runs of `length` elements that start `distance` elements apart, each element multiplied by its run's
// factor and by the factor of its place in the run (stored twice, for both parts of a complex number). Prefetches what
// follows the run.
KIVIAT_EVERY_WIDTH
void gather_faded(Complex* to, const Complex* from, std::int64_t runs, std::int64_t length, std::int64_t distance,
                  const double* of_run, const double* of_place) {
  double* result = reinterpret_cast<double*>(to);
  const double* start = reinterpret_cast<const double*>(from);
  constexpr std::int64_t line = 8;
  for (std::int64_t run = 0; run < runs; ++run, result += 2 * length, start += 2 * distance) {
    const double factor = of_run[run];
    for (std::int64_t i = 0; i < 2 * length; i += line) __builtin_prefetch(start + 2 * length + i);
#pragma omp simd
    for (std::int64_t i = 0; i < 2 * length; ++i) result[i] = start[i] * (factor * of_place[i]);
  }
}

// Returns exp(-4 pi^2 alpha k^2 t) for each wave number k: 0, 1, ..., n/2 - 1, -n/2, ..., -1; each factor `copies`
// times.
inline std::vector<double> fading(std::int64_t n, double t, std::size_t copies) {
  constexpr double alpha = 1e-6, pi = 3.14159265358979323846;
  std::vector<double> factors;
  for (std::int64_t i = 0; i < n; ++i) {
    const double k = static_cast<double>(i < n / 2 ? i : i - n);
    factors.insert(factors.end(), copies, std::exp(-4 * pi * pi * alpha * k * k * t));
  }
  return factors;
}

}  // namespace
}  // namespace kiviat::npb
