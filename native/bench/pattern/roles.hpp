// Assignment of roles to ranks: in GPCNeT a random fifth of the nodes are victims, all others congestors. S. Chunduri
// et al., "GPCNeT: Designing a Benchmark Suite for Inducing and Measuring Contention in HPC Networks", SC19, section 3.
// Pure functions.
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "bench/pattern/rings.hpp"

namespace kiviat {

// Minimum number of each role: a single member could not communicate.
inline constexpr int least_of_role = 2;

// Chooses a random `share` of `all` items by the seed; at least two are chosen, and at least two are not.
inline std::vector<bool> chosen(int all, double share, std::uint64_t seed) {
  const int number = std::clamp(static_cast<int>(std::lround(share * all)), least_of_role, all - least_of_role);
  std::vector<bool> is(static_cast<std::size_t>(all), false);
  const std::vector<int> order = random_order(all, seed);
  for (int i = 0; i < number; ++i) is[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = true;
  return is;
}

// Returns for each rank whether it is a victim, given its node (numbered from 0). `by_node`: all ranks of a node have
// the same role, so that the two roles share only the network; returns nothing with fewer than four nodes. Otherwise at
// least four ranks are needed.
inline std::optional<std::vector<bool>> victims_of(const std::vector<int>& node_of_rank, bool by_node, double share,
                                                   std::uint64_t seed) {
  const int all = by_node ? std::ranges::max(node_of_rank) + 1 : static_cast<int>(node_of_rank.size());
  if (all < 2 * least_of_role) return std::nullopt;
  std::vector<bool> is = chosen(all, share, seed);
  if (!by_node) return is;
  std::vector<bool> victims;
  for (const int node : node_of_rank) victims.push_back(is[static_cast<std::size_t>(node)]);
  return victims;
}

}  // namespace kiviat
