// Ring patterns compared with a literal implementation of b_eff's definition, for up to 520 ranks.
#include "bench/pattern/rings.hpp"

#include <algorithm>
#include <set>

#include "bench/pattern/exchange.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

constexpr int most_ranks = 520;

// n = max(1, min(floor(P/m + 0.4), floor(P/2))), found by trial: the largest n <= P/m + 4/10.
int rings_by_trial(int ranks, int target) {
  int rings = 0;
  while (10 * target * (rings + 1) <= 10 * ranks + 4 * target && 2 * (rings + 1) <= ranks) ++rings;
  return std::max(1, rings);
}

// Ring of each rank, assigned rank by rank.
std::vector<int> ring_of_each_rank(int ranks, int target) {
  const int rings = rings_by_trial(ranks, target), base = ranks / rings, larger = ranks % rings;
  std::vector<int> ring_of;
  for (int ring = 0; ring < rings; ++ring) {
    const bool large = base % 2 == 1 ? ring < larger : ring >= rings - larger;
    for (int member = 0; member < base + large; ++member) ring_of.push_back(ring);
  }
  return ring_of;
}

bool is_permutation_of_ranks(std::vector<int> order, int ranks) {
  std::ranges::sort(order);
  return order == natural_order(ranks);
}

}  // namespace

RANKED_TEST(ring_targets_are_those_of_the_definition, 1) {
  using Targets = std::vector<int>;
  EXPECT((ring_targets(2) == Targets{2, 2, 2, 2, 2, 2}));
  EXPECT((ring_targets(7) == Targets{2, 4, 7, 7, 7, 7}));
  EXPECT((ring_targets(24) == Targets{2, 4, 8, 16, 24, 24}));
  EXPECT((ring_targets(100) == Targets{2, 4, 8, 25, 50, 100}));
  EXPECT((ring_targets(512) == Targets{2, 4, 8, 128, 256, 512}));
}

RANKED_TEST(ring_sizes_by_hand, 1) {
  using Sizes = std::vector<int>;
  EXPECT((ring_sizes(7, 2) == Sizes{2, 2, 3}));   // base size 2 is even: the larger ring is last
  EXPECT((ring_sizes(11, 4) == Sizes{4, 4, 3}));  // base size 3 is odd: the larger rings are first
  EXPECT((ring_sizes(13, 8) == Sizes{6, 7}));     // 13/8 + 0.4 = 2.025
  EXPECT((ring_sizes(12, 8) == Sizes{12}));       // 12/8 + 0.4 = 1.9
  EXPECT((ring_sizes(3, 2) == Sizes{3}));         // 3/2 + 0.4 = 1.9
}

RANKED_TEST(rings_of_every_number_of_ranks, 1) {
  long wrong_sizes = 0, wrong_neighbours = 0, wrong_totals = 0, cases = 0;
  for (int ranks = 2; ranks <= most_ranks; ++ranks) {
    const std::vector<int> natural = natural_order(ranks);
    for (const int target : ring_targets(ranks)) {
      ++cases;
      const std::vector<int> ring_of = ring_of_each_rank(ranks, target), sizes = ring_sizes(ranks, target);
      // Every rank is in exactly one ring, and rings have the sizes stated.
      bool same = static_cast<int>(ring_of.size()) == ranks && static_cast<int>(sizes.size()) == ring_of.back() + 1;
      for (std::size_t ring = 0; ring < sizes.size(); ++ring)
        same = same && sizes[ring] == std::ranges::count(ring_of, static_cast<int>(ring));
      wrong_sizes += !same;

      std::int64_t messages = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        // Next and previous rank of the same ring, periodic.
        const int ring = ring_of[rank];
        int right = rank + 1, left = rank - 1;
        if (right == ranks || ring_of[right] != ring)
          right = static_cast<int>(std::ranges::find(ring_of, ring) - ring_of.begin());
        if (left < 0 || ring_of[left] != ring)
          left = static_cast<int>(std::ranges::upper_bound(ring_of, ring) - ring_of.begin()) - 1;
        wrong_neighbours += ring_neighbours(natural, sizes, rank) != Neighbours{left, right};
        messages += left == right ? 1 : 2;
      }
      wrong_totals += ring_pattern("rings", natural, sizes, 0).total != messages;
    }
  }
  EXPECT(cases == 6 * (most_ranks - 1));
  EXPECT(wrong_sizes == 0);
  EXPECT(wrong_neighbours == 0);
  EXPECT(wrong_totals == 0);
}

RANKED_TEST(the_only_neighbour_gets_one_message_or_both, 1) {
  const std::vector<int> two = {1, 0};
  const Pattern one = ring_pattern("b_eff", two, {2}, 0);
  EXPECT(one.mine.size() == 1);
  EXPECT(one.total == 2);
  const Pattern both = ring_pattern("HPCC", two, {2}, 0, OnlyNeighbour::both_messages);
  EXPECT(both.mine.size() == 2);
  EXPECT(both.total == 4);
  EXPECT(std::ranges::all_of(both.mine, [](const Message& message) { return message.to == 1 && message.from == 1; }));
  const Pattern three = ring_pattern("HPCC", {2, 0, 1}, {3}, 0, OnlyNeighbour::both_messages);
  EXPECT(three.mine.size() == 2);
  EXPECT(three.total == 6);
}

RANKED_TEST(orders_of_every_number_of_ranks, 1) {
  long no_permutation = 0, not_far = 0, not_repeatable = 0;
  for (int ranks = 2; ranks <= most_ranks; ++ranks) {
    const std::vector<int> random = random_order(ranks, 17), worst = worst_order(ranks);
    no_permutation += !is_permutation_of_ranks(random, ranks) + !is_permutation_of_ranks(worst, ranks);
    not_repeatable += random != random_order(ranks, 17);
    // The first step is the longest possible; each following one is one shorter and in the other direction.
    for (int i = 0; i + 1 < ranks; ++i)
      not_far += worst[i + 1] - worst[i] != (i % 2 == 0 ? ranks - 1 - i : i + 1 - ranks);
  }
  EXPECT(no_permutation == 0);
  EXPECT(not_far == 0);
  EXPECT(not_repeatable == 0);
  EXPECT(random_order(64, 1) != random_order(64, 2));
  EXPECT((worst_order(5) == std::vector<int>{0, 4, 1, 3, 2}));
}

// All 24 orders of four ranks are equally likely: 24000 seeds, tolerance of 5 standard deviations.
RANKED_TEST(random_orders_are_uniform, 1) {
  std::map<std::vector<int>, int> seen;
  for (std::uint64_t seed = 0; seed < 24'000; ++seed) ++seen[random_order(4, seed)];
  EXPECT(seen.size() == 24);
  for (const auto& [order, times] : seen) EXPECT(std::abs(times - 1000) < 160);
}

RANKED_TEST(random_rings_have_neighbours_in_their_order, 1) {
  for (const int ranks : {2, 3, 9, 64}) {
    const std::vector<int> order = random_order(ranks, 5);
    for (int i = 0; i < ranks; ++i)
      EXPECT(ring_neighbours(order, {ranks}, order[i]) ==
             Neighbours{order[(i + ranks - 1) % ranks], order[(i + 1) % ranks]});
  }
}
