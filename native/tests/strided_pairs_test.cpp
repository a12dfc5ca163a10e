// Selection of pairs for pair_pingpong.
#include "bench/hpcc/strided_pairs.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

std::set<std::pair<int, int>> distinct(const std::vector<Pair>& pairs) {
  std::set<std::pair<int, int>> all;
  for (const Pair& pair : pairs) all.insert(std::minmax(pair.one, pair.other));
  return all;
}

}  // namespace

RANKED_TEST(every_pair_has_one_number, 1) {
  for (int ranks = 2; ranks <= 33; ++ranks) {
    const std::vector<Pair> all = strided_pairs(ranks, 1'000'000, 1);
    EXPECT(all.size() == pairs_of(ranks));
    EXPECT(distinct(all).size() == all.size());
    EXPECT(std::ranges::all_of(
        all, [&](const Pair& pair) { return pair.one != pair.other && std::max(pair.one, pair.other) < ranks; }));
  }
}

RANKED_TEST(some_pairs_are_spread_over_ranks_and_distances, 1) {
  const std::vector<Pair> some = strided_pairs(576, 256, 1);
  EXPECT(some.size() == 256);
  EXPECT(distinct(some).size() == 256);
  std::set<int> ranks, distances;
  for (const auto& [one, other] : some) {
    ranks.insert(one);
    distances.insert(std::min((other - one + 576) % 576, (one - other + 576) % 576));
  }
  EXPECT(ranks.size() > 150);
  EXPECT(distances.size() > 150);
  EXPECT(distinct(strided_pairs(576, 256, 1)) == distinct(some));
  EXPECT(distinct(strided_pairs(576, 256, 2)) != distinct(some));
}
