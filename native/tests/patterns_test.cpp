// Senders, receivers and sizes of messages: pairings, dense phases, grids; and the messages actually sent, counted by
// wrapped MPI calls.
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "bench/pattern/dense_phases.hpp"
#include "bench/pattern/exchange.hpp"
#include "bench/pattern/pairings.hpp"
#include "driver/runner.hpp"
#include "ranked_test.hpp"
#include "virtual_mpi.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

using PatternOf = std::function<Pattern(int rank)>;

// Returns whether the messages of all ranks match: message i of a rank is message i that its receiver expects, and
// their number is that of the pattern.
bool consistent(int ranks, const PatternOf& of) {
  std::vector<Pattern> all;
  std::int64_t messages = 0;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(of(rank));
  for (int rank = 0; rank < ranks; ++rank)
    for (std::size_t i = 0; i < all[rank].mine.size(); ++i) {
      const auto [to, from] = all[rank].mine[i];
      if (to == rank || from == rank) return false;
      if (to != MPI_PROC_NULL && (all[to].mine.size() <= i || all[to].mine[i].from != rank)) return false;
      if (from != MPI_PROC_NULL && (all[from].mine.size() <= i || all[from].mine[i].to != rank)) return false;
      messages += to != MPI_PROC_NULL;
    }
  return messages == all[0].total;
}

// Pairs (lower, higher) of one step of a phase; empty if partners do not agree.
std::vector<std::pair<int, int>> pairs_of(int ranks, std::size_t step, const std::function<Phase(int rank)>& of) {
  std::vector<std::pair<int, int>> pairs;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto [to, from] = of(rank).pattern.mine[step];
    if (to != from) return {};
    if (to > rank) pairs.emplace_back(rank, to);
  }
  return pairs;
}

bool disjoint(const std::vector<std::pair<int, int>>& pairs) {
  std::set<int> seen;
  for (const auto& [low, high] : pairs) seen.insert(low), seen.insert(high);
  return seen.size() == 2 * pairs.size();
}

int modulo_distance(int ranks, const std::pair<int, int>& pair) {
  return std::min(pair.second - pair.first, ranks - pair.second + pair.first);
}

}  // namespace

RANKED_TEST(circle_rounds_bring_all_pairs_together_once, 1) {
  for (int ranks = 2; ranks <= 65; ++ranks) {
    std::map<std::pair<int, int>, int> met;
    bool agreed = true;
    for (int round = 0; round < circle_rounds(ranks); ++round) {
      int alone = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const int partner = circle_partner(ranks, round, rank);
        alone += partner == MPI_PROC_NULL;
        agreed =
            agreed && partner != rank && (partner == MPI_PROC_NULL || circle_partner(ranks, round, partner) == rank);
        if (partner > rank) ++met[{rank, partner}];
      }
      agreed = agreed && alone == ranks % 2;
    }
    EXPECT(agreed);
    EXPECT(met.size() == static_cast<std::size_t>(ranks * (ranks - 1) / 2));
    EXPECT(std::ranges::all_of(met, [](const auto& pair) { return pair.second == 1; }));
  }
}

RANKED_TEST(messages_of_all_patterns_fit_together, 1) {
  for (const int ranks : {2, 3, 4, 5, 7, 8, 12, 17, 24, 33, 64}) {
    for (const int target : ring_targets(ranks))
      EXPECT(consistent(
          ranks, [&](int rank) { return ring_pattern("", natural_order(ranks), ring_sizes(ranks, target), rank); }));
    for (const auto& order : {random_order(ranks, 3), worst_order(ranks)})
      EXPECT(consistent(ranks, [&](int rank) { return ring_pattern("", order, {ranks}, rank); }));
    for (int k = 1; k < ranks; ++k) {
      EXPECT(consistent(ranks, [&](int rank) { return total_exchange_phase(ranks, k, rank).pattern; }));
      for (const Matching matching : {Matching::disjoint, Matching::halves, Matching::both})
        EXPECT(consistent(ranks, [&](int rank) { return pairwise_phase(ranks, k, matching, rank).pattern; }));
    }
    for (int j = 1; j <= ranks / 2; ++j)
      for (const bool near : {false, true})
        EXPECT(consistent(ranks, [&](int rank) { return cumulative_phase(ranks, j, near, rank).pattern; }));
    EXPECT(consistent(ranks, [&](int rank) { return random_phase(ranks, 9, rank).pattern; }));
  }
}

RANKED_TEST(grids_have_two_neighbours_along_each_dimension, 1) {
  const std::vector<std::vector<int>> grids = {{2, 1},    {4, 3},    {2, 2},    {8, 1},
                                               {2, 2, 2}, {4, 3, 2}, {5, 3, 3}, {7, 1, 1}};
  for (const std::vector<int>& dims : grids) {
    int ranks = 1;
    std::int64_t messages_of_a_rank = 0;
    for (const int dim : dims) ranks *= dim, messages_of_a_rank += dim > 2 ? 2 : dim - 1;
    std::vector<int> along(dims.size());
    std::iota(along.begin(), along.end(), 0);
    EXPECT(consistent(ranks, [&](int rank) { return grid_pattern("", dims, along, rank); }));
    EXPECT(grid_pattern("", dims, along, 0).total == ranks * messages_of_a_rank);
    // Neighbours differ by one, modulo the dimension, in one coordinate.
    const auto coordinates = [&](int rank) {
      std::vector<int> at(dims.size());
      for (std::size_t d = dims.size(); d-- > 0; rank /= dims[d]) at[d] = rank % dims[d];
      return at;
    };
    long strangers = 0;
    for (int rank = 0; rank < ranks; ++rank)
      for (const auto& [to, from] : grid_pattern("", dims, along, rank).mine) {
        const auto here = coordinates(rank), there = coordinates(to);
        int steps = 0;
        for (std::size_t d = 0; d < dims.size(); ++d) {
          const int apart = std::abs(here[d] - there[d]);
          steps += std::min(apart, dims[d] - apart);
        }
        strangers += steps != 1;
      }
    EXPECT(strangers == 0);
  }
}

// Grids of 33 or 31 ranks would degenerate to few planes or a line, so b_eff's program leaves out ranks.
RANKED_TEST(grids_leave_out_ranks_that_would_make_them_flat, 1) {
  EXPECT((grid_dims(8, 3) == std::vector<int>{2, 2, 2}));
  EXPECT((grid_dims(6, 3) == std::vector<int>{3, 2, 1}));
  EXPECT((grid_dims(33, 2) == std::vector<int>{11, 3}));
  const std::vector<int> dims = grid_dims(33, 3);
  EXPECT((dims == std::vector<int>{4, 4, 2}));
  const std::vector<int> along = {0, 1, 2};
  EXPECT(consistent(33, [&](int rank) { return grid_pattern("", dims, along, rank); }));
  EXPECT(grid_pattern("", dims, along, 32).mine.empty());
}

RANKED_TEST(total_exchange_sends_to_everyone_once, 1) {
  for (const int ranks : {2, 3, 8, 13}) {
    std::set<std::pair<int, int>> sent_to;
    for (int k = 1; k < ranks; ++k)
      for (int rank = 0; rank < ranks; ++rank)
        sent_to.emplace(rank, total_exchange_phase(ranks, k, rank).pattern.mine[0].to);
    EXPECT(sent_to.size() == static_cast<std::size_t>(ranks * (ranks - 1)));
  }
}

// Properties of the matchings of dense_pairwise.
RANKED_TEST(pairwise_phases_keep_their_distance_and_their_partners_apart, 1) {
  for (int ranks = 2; ranks <= 65; ++ranks) {
    for (int distance = 1; 2 * distance <= ranks; ++distance) {
      const int cycles = std::gcd(ranks, distance), length = ranks / cycles;
      std::map<std::pair<int, int>, int> met;
      std::vector<std::set<int>> alone;  // by phase
      bool right = true;
      for (const int k : {distance, ranks - distance}) {
        const auto phase = [&](int rank) { return pairwise_phase(ranks, k, Matching::disjoint, rank); };
        const int steps = length % 2 == 0 ? 1 : 2;
        right = right && phase(0).steps == steps && phase(0).processes == ranks;
        alone.emplace_back();
        for (int step = 0; step < steps; ++step) {
          const auto pairs = pairs_of(ranks, step, phase);
          right = right && disjoint(pairs) && static_cast<int>(pairs.size()) == cycles * (length / 2);
          for (const auto& pair : pairs) ++met[pair], right = right && modulo_distance(ranks, pair) == distance;
          for (int rank = 0; rank < ranks; ++rank)
            if (phase(rank).pattern.mine[step].to == MPI_PROC_NULL) alone.back().insert(rank);
        }
        if (2 * distance == ranks) break;
      }
      EXPECT(right);
      // Over both phases of a distance all pairs at that distance meet, exactly once if no rank is idle.
      EXPECT(met.size() == static_cast<std::size_t>(2 * distance == ranks ? ranks / 2 : ranks));
      if (length % 2 == 0) EXPECT(std::ranges::all_of(met, [](const auto& pair) { return pair.second == 1; }));
      // In each phase two ranks of each odd cycle are idle for half of it, different ones in the second phase.
      for (const auto& idle : alone) EXPECT(static_cast<int>(idle.size()) == (length % 2 == 0 ? 0 : 2 * cycles));
      if (length % 2 == 1) EXPECT((alone.front() != alone.back()) == true);
    }
  }
}

RANKED_TEST(pairwise_halves_meet_both_partners, 1) {
  for (const int ranks : {6, 8, 12}) {
    for (int k = 1; k < ranks; ++k) {
      const auto phase = [&](int rank) { return pairwise_phase(ranks, k, Matching::halves, rank); };
      if (2 * k == ranks || (ranks / std::gcd(ranks, k)) % 2 == 1) continue;
      for (int rank = 0; rank < ranks; ++rank) {
        const auto mine = phase(rank).pattern.mine;
        EXPECT((std::set{mine[0].to, mine[1].to} == std::set{(rank + k) % ranks, (rank - k + ranks) % ranks}));
      }
      EXPECT(phase(0).pattern.total == 2 * ranks);
    }
  }
}

RANKED_TEST(cumulative_phases_add_one_pair_each, 1) {
  for (const int ranks : {2, 5, 8, 9}) {
    for (const bool near : {false, true}) {
      std::vector<std::pair<int, int>> before;
      for (int j = 1; j <= ranks / 2; ++j) {
        const auto pairs = pairs_of(ranks, 0, [&](int rank) { return cumulative_phase(ranks, j, near, rank); });
        EXPECT(static_cast<int>(pairs.size()) == j);
        EXPECT(disjoint(pairs));
        EXPECT(std::ranges::includes(pairs, before));
        for (const auto& [low, high] : pairs) EXPECT(high - low == (near ? 1 : ranks / 2));
        EXPECT(cumulative_phase(ranks, j, near, 0).pattern.total == 2 * j);
        before = pairs;
      }
    }
  }
}

RANKED_TEST(random_phases_pair_all_ranks_anew, 1) {
  for (const int ranks : {2, 7, 32}) {
    const auto pairs = [&](std::uint64_t seed) {
      return pairs_of(ranks, 0, [&](int rank) { return random_phase(ranks, seed, rank); });
    };
    EXPECT(static_cast<int>(pairs(1).size()) == ranks / 2);
    EXPECT(disjoint(pairs(1)));
    if (ranks > 2) EXPECT(pairs(1) != pairs(2));
  }
}

// --- messages actually sent ----------------------------------------------------------------------

RANKED_TEST(exchanges_send_what_their_patterns_say, 2, 4) {
  Session session(world.comm);
  const Benchmark benchmark{"fabricated",
                            "tests/fabricated",
                            nullptr,
                            {.sampling = Sampling::study, .reports = {{"patterns", "1", "higher"}}}};
  const Case spec{"case", "fabricated", {}};
  Trial trial(spec, benchmark, session, world.comm);
  Exchange exchange(trial, 1000, Exchange::Calls::rotate);
  const int ranks = world.size, rank = world.rank;
  std::vector<std::pair<Pattern, std::vector<Method>>> patterns;
  const std::vector<Method> all(methods.begin(), methods.end());
  for (const int target : ring_targets(ranks))
    patterns.emplace_back(ring_pattern("", natural_order(ranks), ring_sizes(ranks, target), rank), all);
  patterns.emplace_back(ring_pattern("", worst_order(ranks), {ranks}, rank), all);
  patterns.emplace_back(grid_pattern("", {ranks / 2, 2}, {0, 1}, rank), all);
  for (int k = 1; k < ranks; ++k)
    for (const Matching matching : {Matching::disjoint, Matching::halves, Matching::both}) {
      Phase phase = pairwise_phase(ranks, k, matching, rank);
      patterns.emplace_back(std::move(phase.pattern), std::vector{phase.method});
    }
  patterns.emplace_back(cumulative_phase(ranks, 1, false, rank).pattern, std::vector{Method::sendrecv});
  trial.study([&] {
    for (const auto& [pattern, ways] : patterns)
      for (const Method method : ways) {
        exchange.set(pattern, 1000);
        EXPECT(exchange.verify(method));
        virtual_mpi() = {};
        for (int call = 0; call < 3; ++call) exchange(method);
        std::int64_t mine[2] = {virtual_mpi().messages, virtual_mpi().bytes}, total[2];
        MPI_Allreduce(mine, total, 2, MPI_INT64_T, MPI_SUM, world.comm);
        EXPECT(total[0] == 3 * pattern.total);
        EXPECT(total[1] == 3000 * pattern.total);
      }
    trial.report("patterns", static_cast<double>(patterns.size()));
  });
}
