// Partners of ranks that communicate in pairs. Pure functions; MPI_PROC_NULL is the partner of a rank without one.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "bench/pattern/rings.hpp"

namespace kiviat {

// Number of rounds in which every pair of ranks meets once (circle method, a 1-factorisation of the complete graph). An
// odd number of ranks needs one more round; in each round another rank is idle.
inline int circle_rounds(int ranks) { return ranks - 1 + ranks % 2; }

inline int circle_partner(int ranks, int round, int rank) {
  const int turning = circle_rounds(ranks);  // number of ranks that rotate; the last rank of an even number stays fixed
  const auto facing = [&](int r) { return static_cast<int>(((2ll * round - r) % turning + turning) % turning); };
  int partner = rank == turning ? round : facing(rank);
  if (partner == rank) partner = turning;
  return partner < ranks ? partner : MPI_PROC_NULL;
}

// Partner of a rank if rank i of the first half is paired with rank i + P/2; the last of an odd number has none.
inline int far_partner(int ranks, int rank) {
  const int half = ranks / 2;
  return rank >= 2 * half ? MPI_PROC_NULL : rank < half ? rank + half : rank - half;
}

// Partner of a rank if ranks 2i and 2i + 1 are paired.
inline int near_partner(int ranks, int rank) { return (rank ^ 1) < ranks ? rank ^ 1 : MPI_PROC_NULL; }

// Partner of a rank if the first half of `order` is paired with its second half; the last of an odd number is idle.
inline int partner_across(const std::vector<int>& order, int rank) {
  const int position = static_cast<int>(std::ranges::find(order, rank) - order.begin());
  const int other = far_partner(static_cast<int>(order.size()), position);
  return other == MPI_PROC_NULL ? MPI_PROC_NULL : order[other];
}

// Position of a rank in the graph of ranks at distance k modulo P. The graph consists of gcd(P, k) cycles r, r + k, r +
// 2k, … of equal length; a cycle of two ranks is one edge.
struct CyclePosition {
  int length, at;
};

inline CyclePosition cycle_position(int ranks, int distance, int rank) {
  const int cycles = std::gcd(ranks, distance);
  int at = 0;
  for (std::int64_t r = rank % cycles; r != rank; r = (r + distance) % ranks) ++at;
  return {ranks / cycles, at};
}

// Partner of a rank at distance k if, in each cycle, positions first and first + 1, first + 2 and first + 3, … are
// paired. In a cycle of odd length the last position is idle.
inline int circulant_partner(int ranks, int distance, int first, int rank) {
  const auto [length, at] = cycle_position(ranks, distance, rank);
  const int position = (at - first % length + length) % length;
  if (position % 2 == 0 && position + 1 == length) return MPI_PROC_NULL;
  const std::int64_t partner =
      position % 2 == 0 ? std::int64_t{rank} + distance : std::int64_t{rank} - distance + ranks;
  return static_cast<int>(partner % ranks);
}

}  // namespace kiviat
