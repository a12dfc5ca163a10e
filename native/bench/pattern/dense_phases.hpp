// Phases of the four dense communication algorithms, for one rank: pure functions.
#pragma once

#include "bench/pattern/exchange.hpp"
#include "bench/pattern/pairings.hpp"

namespace kiviat {

struct Phase {
  Pattern pattern;
  int processes;  // participating processes
  int steps = 1;  // number of messages that a rank sends one after the other
  Method method = Method::sendrecv;
};

// A phase in which `pairs` pairs exchange messages in both directions.
inline Phase paired(int partner, int pairs) {
  return {{"pairs", {{partner, partner}}, 2 * std::int64_t{pairs}}, 2 * pairs};
}

// Total exchange, phase k of P - 1: to rank + k, from rank - k.
inline Phase total_exchange_phase(int ranks, int k, int rank) {
  return {{"shift", {{(rank + k) % ranks, (rank - k + ranks) % ranks}}, ranks}, ranks};
}

// Communication of a rank with its two partners at distance k in phase k: with one of them, with each in a half-phase,
// or with both at once.
enum class Matching { disjoint, halves, both };

// Simple pairwise, phase k of P - 1: ranks at distance k form cycles (a circulant graph). `disjoint`: cycles of even
// length have two perfect matchings. Phases up to P/2 use the first; later phases, where distance k is equivalent to P
// - k, use the second; so over all phases each pair meets once. Cycles of odd length have no perfect matching and use
// two half-phases, in each of which one rank of each cycle is idle, a different one in each phase. `halves`: always two
// half-phases, so that every rank of an even cycle communicates with both partners in turn. `both`: every rank
// exchanges messages with both partners at once.
inline Phase pairwise_phase(int ranks, int k, Matching matching, int rank) {
  const int distance = std::min(k, ranks - k), cycles = std::gcd(ranks, distance), length = ranks / cycles;
  const int up = (rank + distance) % ranks, down = (rank - distance + ranks) % ranks;
  if (length == 2) return paired(up, ranks / 2);
  if (matching == Matching::both)
    return {{"both", {{up, down}, {down, up}}, 2 * std::int64_t{ranks}}, ranks, 1, Method::nonblocking};
  const bool even = length % 2 == 0;
  if (even && matching == Matching::disjoint)
    return paired(circulant_partner(ranks, distance, k > distance, rank), ranks / 2);
  const int first = even ? 0 : k / cycles % length;
  Pattern pattern{"halves", {}, 0};
  for (const int half : {first, first + 1}) {
    const int partner = circulant_partner(ranks, distance, half, rank);
    pattern.mine.push_back({partner, partner});
    pattern.total += 2 * std::int64_t{cycles} * (length / 2);
  }
  return {std::move(pattern), ranks, 2};
}

// Cumulative pairwise, phase j of P/2: the first j pairs of a fixed matching.
inline Phase cumulative_phase(int ranks, int j, bool near, int rank) {
  const int partner = near ? near_partner(ranks, rank) : far_partner(ranks, rank);
  const int pair = near ? rank / 2 : std::min(rank, partner);
  return paired(partner != MPI_PROC_NULL && pair < j ? partner : MPI_PROC_NULL, j);
}

// Random pairwise: a seeded shuffle pairs all ranks, except one if their number is odd.
inline Phase random_phase(int ranks, std::uint64_t seed, int rank) {
  return paired(partner_across(random_order(ranks, seed), rank), ranks / 2);
}

}  // namespace kiviat
