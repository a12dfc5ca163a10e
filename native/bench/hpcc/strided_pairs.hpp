// Selection of pairs of ranks, spread evenly over distances and ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "support/random.hpp"

namespace kiviat {

struct Pair {
  int one, other;
};

constexpr std::int64_t pairs_of(std::int64_t ranks) { return ranks * (ranks - 1) / 2; }

// Returns the pair with a given number: 0 … P - 1 are the pairs at distance 1 in the ring of all ranks, followed by
// those at distance 2, …; pairs at distance P/2 occur once.
constexpr Pair pair_number(std::int64_t number, int ranks) {
  const std::int64_t distance = number / ranks + 1, one = number % ranks;
  return {static_cast<int>(one), static_cast<int>((one + distance) % ranks)};
}

// Selects at most `most` pairs: all pairs, or one at random from each of `most` equal intervals of numbers.
inline std::vector<Pair> strided_pairs(int ranks, std::int64_t most, std::uint64_t seed) {
  const std::int64_t all = pairs_of(ranks), chosen = most < all ? most : all;
  std::vector<Pair> pairs;
  for (std::int64_t k = 0; k < chosen; ++k) {
    const std::int64_t first = k * all / chosen, end = (k + 1) * all / chosen;
    const std::uint64_t offset =
        random_at(seed, static_cast<std::uint64_t>(k)) % static_cast<std::uint64_t>(end - first);
    pairs.push_back(pair_number(first + static_cast<std::int64_t>(offset), ranks));
  }
  return pairs;
}

}  // namespace kiviat
