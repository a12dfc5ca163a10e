// Time lost to interruptions while a processor repeats a fixed quantum of work (M. Sottile and R. Minnich, "Analysis of
// microbenchmarks for performance tuning of clusters", IEEE Cluster 2004). Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "results/statistics.hpp"

namespace kiviat {

// Detours (interruptions) in back-to-back quanta, relative to `least_s`, the time of an uninterrupted quantum.
struct Detours {
  double share;  // share of time lost: mean quantum / shortest quantum - 1
  double worst_s;
  double per_second;  // detours longer than the threshold
};

inline Detours detours_of(std::span<const double> quanta, double least_s, double threshold_s) {
  const double total_s = std::accumulate(quanta.begin(), quanta.end(), 0.0);
  const auto longer = std::ranges::count_if(quanta, [=](double quantum) { return quantum - least_s > threshold_s; });
  return {total_s / (static_cast<double>(quanta.size()) * least_s) - 1, std::ranges::max(quanta) - least_s,
          static_cast<double>(longer) / total_s};
}

// Splits the quanta into parts that last about a tenth of the total, but at most a second each; returns the number of
// quanta of each.
inline std::vector<std::int64_t> parts_of(std::int64_t quanta, double quantum_s) {
  const auto most = std::max<std::int64_t>(1, static_cast<std::int64_t>(1 / quantum_s));
  const std::int64_t parts = std::max(std::min<std::int64_t>(10, quanta), (quanta + most - 1) / most);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), quanta / parts);
  for (std::int64_t i = 0; i < quanta % parts; ++i) ++sizes[static_cast<std::size_t>(i)];
  return sizes;
}

}  // namespace kiviat
