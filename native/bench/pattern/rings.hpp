// Ring patterns, as b_eff defines them: R. Rabenseifner and A. E. Koniges, "Effective Communication and
// File-I/O Bandwidth Benchmarks", EuroPVM/MPI 2001; section 2 of the definition at HLRS. Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "support/random.hpp"

namespace kiviat {

// Target ring sizes of the six patterns.
inline std::vector<int> ring_targets(int ranks) {
  std::vector<int> targets = {2, 4, 8, std::max(16, ranks / 4), std::max(32, ranks / 2), ranks};
  for (int& target : targets) target = std::min(target, ranks);
  return targets;
}

// Returns the ring sizes, in rank order, of the pattern with rings of about `target` ranks, at least two. Larger rings
// come first if the others have an odd number of ranks, else last.
inline std::vector<int> ring_sizes(int ranks, int target) {
  // floor(P/m + 0.4), in integers
  const int rings = std::max(1, std::min((10 * ranks + 4 * target) / (10 * target), ranks / 2));
  const int size = ranks / rings, larger = ranks % rings;
  std::vector<int> sizes(rings, size);
  const auto first = size % 2 == 1 ? sizes.begin() : sizes.end() - larger;
  std::for_each(first, first + larger, [](int& ring) { ++ring; });
  return sizes;
}

struct Neighbours {
  int left, right;
  bool operator==(const Neighbours&) const = default;
};

// Neighbours of `rank` if consecutive ranks of `order` form rings of these sizes.
inline Neighbours ring_neighbours(const std::vector<int>& order, const std::vector<int>& sizes, int rank) {
  const int position = static_cast<int>(std::ranges::find(order, rank) - order.begin());
  int begin = 0;
  for (const int size : sizes) {
    if (position < begin + size) {
      const int at = position - begin;
      return {order[begin + (at + size - 1) % size], order[begin + (at + 1) % size]};
    }
    begin += size;
  }
  return {rank, rank};
}

inline std::vector<int> natural_order(int ranks) {
  std::vector<int> order(ranks);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Random permutation (Fisher and Yates), equal on every rank for the same seed.
inline std::vector<int> random_order(int ranks, std::uint64_t seed) {
  std::vector<int> order = natural_order(ranks);
  unsigned long long state = mix(seed);
  for (int left = ranks - 1; left > 0; --left)
    std::swap(order[left], order[next_random(state) % static_cast<std::uint64_t>(left + 1)]);
  return order;
}

// Returns 0, P - 1, 1, P - 2, …, as in b_eff's program (3.6): neighbours in the ring have distant rank numbers, less so
// towards the end.
inline std::vector<int> worst_order(int ranks) {
  std::vector<int> order;
  for (int i = 0; i < ranks; ++i) order.push_back(i % 2 == 0 ? i / 2 : ranks - 1 - i / 2);
  return order;
}

}  // namespace kiviat
