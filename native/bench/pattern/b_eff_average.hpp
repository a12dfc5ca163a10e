// Computes b_eff from its measurements: sizes, number of loops, maxima over methods and repetitions, averages. R.
// Rabenseifner and A. E. Koniges, "Effective Communication and File-I/O Bandwidth Benchmarks", EuroPVM/MPI 2001. Pure
// functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kiviat {

// Parameters fixed by the definition, and those of the quick variant.
struct BEffExtent {
  int randoms, repetitions, every_size;
  std::int64_t most_loops;
};
inline constexpr BEffExtent b_eff_full{30, 3, 1, 300}, b_eff_quick{5, 1, 2, 60};

// Returns 1, 2, 4 … 4096, followed by eight sizes in equal ratios up to `largest`; of these, every `every`-th one
// including the largest.
inline std::vector<std::int64_t> b_eff_sizes(std::int64_t largest, int every) {
  std::vector<std::int64_t> sizes, chosen;
  for (int power = 0; power <= 12; ++power) sizes.push_back(std::int64_t{1} << power);
  const double ratio = std::pow(static_cast<double>(largest) / 4096, 1.0 / 8);
  for (int k = 1; k <= 8; ++k) sizes.push_back(std::llround(4096 * std::pow(ratio, k)));
  for (std::size_t i = 0; i < sizes.size(); i += static_cast<std::size_t>(every)) chosen.push_back(sizes[i]);
  return chosen;
}

inline std::int64_t b_eff_loops(std::int64_t largest, std::int64_t bytes, std::int64_t most_loops) {
  return std::clamp<std::int64_t>(largest / bytes, 1, most_loops);
}

// Bytes per second of one pattern: over all sizes, and at the largest alone.
struct PatternBandwidth {
  double average, at_largest;
};

// Bandwidth of one pattern. `rate(size, method, repetition)` returns a measured rate; it is called for all repetitions
// of a method in turn.
template <class Rate>
PatternBandwidth pattern_bandwidth(std::size_t sizes, std::size_t methods, int repetitions, Rate rate) {
  double sum = 0, best = 0;
  for (std::size_t size = 0; size < sizes; ++size) {
    best = 0;
    for (std::size_t method = 0; method < methods; ++method)
      for (int repetition = 0; repetition < repetitions; ++repetition)
        best = std::max(best, rate(size, method, repetition));
    sum += best;
  }
  return {sum / static_cast<double>(sizes), best};
}

inline double log_average(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

struct BEff {
  double b_eff, rings, randoms, at_largest, rings_at_largest;
};

// Rings and random patterns have equal weight, whatever their numbers.
inline BEff b_eff_of(const std::vector<PatternBandwidth>& rings, const std::vector<PatternBandwidth>& randoms) {
  const auto over = [](const std::vector<PatternBandwidth>& patterns, double PatternBandwidth::* which) {
    std::vector<double> values;
    for (const PatternBandwidth& pattern : patterns) values.push_back(pattern.*which);
    return log_average(values);
  };
  const double of_rings = over(rings, &PatternBandwidth::average),
               of_randoms = over(randoms, &PatternBandwidth::average);
  const double largest_rings = over(rings, &PatternBandwidth::at_largest);
  const double largest_randoms = over(randoms, &PatternBandwidth::at_largest);
  return {log_average({of_rings, of_randoms}), of_rings, of_randoms, log_average({largest_rings, largest_randoms}),
          largest_rings};
}

}  // namespace kiviat
