// Congestion: choice of victims, and consistency of the figures.
#include <algorithm>
#include <cmath>
#include <set>

#include "bench/pattern/roles.hpp"
#include "driver/runner.hpp"
#include "ranked_test.hpp"

using namespace kiviat;

namespace {

int count(const std::vector<bool>& is) { return static_cast<int>(std::ranges::count(is, true)); }

}  // namespace

RANKED_TEST(a_share_of_the_ranks_are_victims, 1) {
  for (int ranks = 4; ranks <= 200; ++ranks)
    for (const double share : {0.01, 0.2, 0.5, 0.99}) {
      const std::vector<int> one_node(ranks, 0);
      const auto victims = victims_of(one_node, false, share, 1);
      EXPECT(victims.has_value());
      if (!victims) continue;
      EXPECT(static_cast<int>(victims->size()) == ranks);
      EXPECT(count(*victims) >= 2);
      EXPECT(count(*victims) <= ranks - 2);
      if (share * ranks >= 2 && (1 - share) * ranks >= 2) EXPECT(std::abs(count(*victims) - share * ranks) <= 0.5);
      EXPECT(*victims == *victims_of(one_node, false, share, 1));
    }
  std::set<std::vector<bool>> choices;
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    choices.insert(*victims_of(std::vector<int>(40, 0), false, 0.2, seed));
  EXPECT(choices.size() > 45);
}

RANKED_TEST(by_nodes_all_ranks_of_a_node_have_one_role, 1) {
  for (int nodes = 4; nodes <= 30; ++nodes)
    for (int per_node = 1; per_node <= 4; ++per_node) {
      std::vector<int> node_of_rank;
      for (int rank = 0; rank < nodes * per_node; ++rank) node_of_rank.push_back(rank % nodes);  // cyclic placement
      const auto victims = *victims_of(node_of_rank, true, 0.2, 7);
      std::vector<int> of_node(nodes, 0);
      for (std::size_t rank = 0; rank < victims.size(); ++rank) of_node[node_of_rank[rank]] += victims[rank];
      EXPECT(std::ranges::all_of(of_node, [=](int each) { return each == 0 || each == per_node; }));
      const auto victim_nodes = nodes - std::ranges::count(of_node, 0);
      EXPECT(victim_nodes == std::clamp<std::ptrdiff_t>(std::lround(0.2 * nodes), 2, nodes - 2));
    }
  EXPECT(!victims_of({0, 0, 1, 1, 2, 2, 2, 2}, true, 0.2, 1));
  EXPECT(!victims_of({0, 0, 0}, false, 0.2, 1));
}

RANKED_TEST(impact_factors_are_those_of_the_times, 4) {
  Session session(world.comm);
  const Result result =
      run_case({"case", "congestion", {{"repetitions", "1"}, {"phase_ms", "3"}, {"long", "5000"}}}, session);
  EXPECT(result.outcome == "ok");
  EXPECT(result.check == "passed");
  if (world.rank != 0) return;
  const auto figure = [&](const std::string& name) {
    const Metric* metric = result.metric(name);
    return metric ? *result.summary(*metric).p50 : NAN;
  };
  const auto table = std::ranges::find(result.tables, "impact", &Table::name);
  EXPECT((table != result.tables.end()));
  if (table == result.tables.end()) return;
  Table impact = *table;
  double worst = 0;
  for (std::size_t v = 0; v < 3; ++v)
    for (std::size_t c = 0; c < 5; ++c) {
      const std::string victim = impact.axes[0].values[v], both = victim + "_" + impact.axes[1].values[c];
      EXPECT(impact.at({v, c, 0}) == figure(both + "_impact"));
      EXPECT(impact.at({v, c, 1}) == figure(both + "_impact_p99"));
      const double ratio = figure(both + "_p99") / figure(victim + "_alone_p99");
      EXPECT(std::abs((victim == "bandwidth" ? 1 / ratio : ratio) / impact.at({v, c, 1}) - 1) < 1e-9);
      // For times the tail is the upper percentile, for rates the lower one.
      if (victim == "bandwidth")
        EXPECT(figure(both + "_p99") <= figure(both));
      else
        EXPECT(figure(both + "_p99") >= figure(both));
      worst = std::max(worst, impact.at({v, c, 0}));
    }
  EXPECT(worst == figure("impact"));
  const auto role = std::ranges::find(result.tables, "victims", &Table::name);
  EXPECT((role != result.tables.end()));
  if (role != result.tables.end()) EXPECT(std::ranges::count(role->values, 1.0) == 2);
}
