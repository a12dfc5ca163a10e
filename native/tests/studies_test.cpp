// Studies on four ranks with a fabricated network, so that all results are known.
#include <algorithm>
#include <cmath>
#include <functional>

#include "driver/runner.hpp"
#include "ranked_test.hpp"
#include "virtual_mpi.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

using Words = std::map<std::string, std::string, std::less<>>;
using Network = std::function<double(int me, int other, int bytes)>;

// Result of a benchmark with this network; complete on rank 0.
Result in_network(const World& world, const Network& network, const char* benchmark, const Words& words) {
  Session session(world.comm);
  virtual_mpi() = {.seconds = network};
  Result result = run_case({"case", benchmark, words}, session);
  virtual_mpi() = {};
  return result;
}

bool near(double value, double expected) { return std::abs(value / expected - 1) < 1e-9; }

double figure(const Result& result, const char* name) {
  const Metric* metric = result.metric(name);
  return metric ? result.summary(*metric).p50.value_or(NAN) : NAN;
}

const Table& table(const Result& result, const char* name) {
  static const Table none("none", "1", "lower", {{"none", {}}});
  const auto found = std::ranges::find(result.tables, name, &Table::name);
  return found == result.tables.end() ? none : *found;
}

std::string names(const Table& table) {
  std::string text;
  for (const std::string& name : table.axes.front().values) text += name + ";";
  return text;
}

// 10 us and 1 GB/s; messages of `rank`, or between `low` and `high`, take ten times as long.
Network sick(int rank, int low = -1, int high = -1) {
  return [=](int me, int other, int bytes) {
    const bool slow = me == rank || other == rank || (std::min(me, other) == low && std::max(me, other) == high);
    return (slow ? 10 : 1) * (1e-5 + 1e-9 * bytes);
  };
}

}  // namespace

RANKED_TEST(the_slow_rank_and_the_slow_link_are_named, 4) {
  const Words words = {{"pair_ms", "2"}, {"long", "4096"}};
  const Result healthy = in_network(world, sick(-1), "sick_links", words),
               rank = in_network(world, sick(2), "sick_links", words),
               link = in_network(world, sick(-1, 1, 3), "sick_links", words);
  EXPECT(healthy.outcome == "ok");
  if (world.rank != 0) return;
  EXPECT(names(table(healthy, "slow_ranks")) == "");
  EXPECT(names(table(healthy, "slow_links")) == "");
  EXPECT(near(figure(healthy, "latency"), 1e-5 + 8e-9));
  EXPECT(near(figure(healthy, "bandwidth"), 4096 / (1e-5 + 4096e-9)));
  EXPECT(names(table(rank, "slow_ranks")) == "2;");
  EXPECT(names(table(rank, "slow_links")) == "");
  EXPECT(near(figure(rank, "slowdown_max"), 10));
  EXPECT(names(table(link, "slow_ranks")) == "");
  EXPECT(names(table(link, "slow_links")) == "1-3 latency;1-3 bandwidth;");
  EXPECT(near(figure(link, "slowdown_max"), 10));
}

RANKED_TEST(the_matrix_has_every_pair_at_its_place, 4) {
  // Every pair has a different time: 12 ms between ranks 1 and 2, and so on.
  const Network network = [](int me, int other, int) {
    return 1e-3 * (10 * std::min(me, other) + std::max(me, other));
  };
  for (const char* concurrent : {"0", "1"}) {
    const Result result = in_network(world, network, "all_pairs", {{"concurrent", concurrent}, {"long", "1000"}});
    EXPECT(result.check == "passed");
    EXPECT(result.tables.empty() == (world.rank != 0));
    if (world.rank != 0) continue;
    Table latency = table(result, "latency"), bandwidth = table(result, "bandwidth");
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT(std::isnan(latency.at({i, i})));
      for (std::size_t j = i + 1; j < 4; ++j) {
        const double expected_s = 1e-3 * static_cast<double>(10 * i + j);
        EXPECT(near(latency.at({i, j}), expected_s));
        EXPECT(near(latency.at({j, i}), expected_s));
        EXPECT(near(bandwidth.at({i, j}), 1000 / expected_s));
      }
    }
    EXPECT(near(figure(result, "latency_min"), 1e-3));       // pair 0-1
    EXPECT(near(figure(result, "latency_median"), 7.5e-3));  // of 1, 2, 3, 12, 13, 23 ms
    EXPECT(near(figure(result, "bandwidth_min"), 1000 / 23e-3));
  }
}

RANKED_TEST(each_distance_has_its_own_time, 4) {
  const Network network = [](int me, int other, int bytes) { return std::abs(me - other) * (1e-3 + 1e-6 * bytes); };
  const Result result = in_network(world, network, "distance", {{"distances", "all"}, {"long", "1000"}});
  const Result doubling = in_network(world, network, "distance", {{"long", "1000"}});
  EXPECT(result.check == "passed");
  if (world.rank != 0) return;
  Table latency = table(result, "latency"), bandwidth = table(result, "bandwidth");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT(near(latency.at({i}), static_cast<double>(i + 1) * 1.008e-3));
    EXPECT(near(bandwidth.at({i}), 1000 / (static_cast<double>(i + 1) * 2e-3)));
  }
  EXPECT(near(figure(result, "farthest_latency"), 3.024e-3));
  EXPECT(result.metric("nearest_latency")->samples.count() == 7);
  EXPECT(names(table(doubling, "latency")) == "1;2;");
}

// 1 ms for a message to a neighbour, 4 ms across the ring of four.
RANKED_TEST(dense_phases_have_the_bandwidth_of_their_distance, 4) {
  const Network network = [](int me, int other, int) { return std::abs(me - other) == 2 ? 4e-3 : 1e-3; };
  const Words words = {{"bytes", "1000"}, {"phase_ms", "20"}, {"matching", "far"}, {"phases", "5"}};
  const auto result_of = [&](const char* benchmark, std::initializer_list<const char*> axes) {
    Words chosen = {{"bytes", "1000"}, {"phase_ms", "20"}};
    for (const char* axis : axes) chosen[axis] = words.at(axis);
    return in_network(world, network, benchmark, chosen);
  };
  const Words disjoint = {{"bytes", "1000"}, {"phase_ms", "20"}, {"matching", "disjoint"}};
  const Result exchange = result_of("dense_total_exchange", {}),
               pairwise = in_network(world, network, "dense_pairwise", disjoint),
               cumulative = result_of("dense_cumulative", {"matching"}), random = result_of("dense_random", {"phases"});
  EXPECT(exchange.check == "passed");
  EXPECT(cumulative.check == "passed");
  if (world.rank != 0) return;
  for (const Result* result : {&exchange, &pairwise}) {
    Table each = table(*result, "bandwidth"), all = table(*result, "total_bandwidth");
    EXPECT(each.values.size() == 3);
    EXPECT(near(each.at({0}), 1e6));
    EXPECT(near(each.at({1}), 0.25e6));
    EXPECT(near(each.at({2}), 1e6));
    EXPECT(near(all.at({1}), 1e6));
    EXPECT(near(figure(*result, "bandwidth"), 3000 / 6e-3));
    EXPECT(near(figure(*result, "total_bandwidth"), 12'000 / 6e-3));
    EXPECT(near(figure(*result, "bandwidth_min"), 0.25e6));
    EXPECT(near(figure(*result, "bandwidth_max"), 1e6));
    EXPECT(near(figure(*result, "middle_to_first"), 0.25));
  }
  // Pair 0-2, then 0-2 and 1-3 at once: the same bandwidth per process, twice as much in total.
  Table all = table(cumulative, "total_bandwidth");
  EXPECT(all.values.size() == 2);
  EXPECT(near(all.at({0}), 2000 / 4e-3));
  EXPECT(near(all.at({1}), 4000 / 4e-3));
  EXPECT(near(figure(cumulative, "last_to_first"), 1));
  EXPECT(table(random, "bandwidth").values.size() == 5);
  for (const double value : table(random, "bandwidth").values)
    EXPECT((near(value, 1e6) || near(value, 0.25e6)) == true);
}

// With three ranks each phase has two halves, and in each half another rank is idle.
RANKED_TEST(halves_follow_each_other, 4) {
  const Network network = [](int, int, int) { return 1e-3; };
  const Result result =
      in_network(world, network, "dense_pairwise", {{"ranks", "3"}, {"bytes", "1000"}, {"phase_ms", "20"}});
  if (world.rank != 0) return;
  EXPECT(table(result, "steps").values == (std::vector<double>{2, 2}));
  // Four messages in 2 ms, on three processes.
  for (const double value : table(result, "total_bandwidth").values) EXPECT(near(value, 4000 / 2e-3));
  for (const double value : table(result, "bandwidth").values) EXPECT(near(value, 4000 / 2e-3 / 3));
}

// Pairs 0-2 and 1-3 at 2 MB/s and 1 MB/s both ways.
RANKED_TEST(streams_count_both_ways, 4) {
  const Network network = [](int me, int other, int bytes) { return bytes / (std::min(me, other) == 0 ? 1e6 : 0.5e6); };
  for (const char* pairs : {"together", "alone"}) {
    const Result result =
        in_network(world, network, "streaming", {{"long", "1000"}, {"time_ms", "200"}, {"pairs", pairs}});
    EXPECT(result.check == "passed");
    if (world.rank != 0) continue;
    const Table& rates = table(result, "pair_bandwidth");
    EXPECT(names(rates) == "0-2;1-3;");
    EXPECT(near(rates.values[0], 2e6));
    EXPECT(near(rates.values[1], 1e6));
    EXPECT(near(figure(result, "pair_bandwidth_min"), 1e6));
    EXPECT((result.metric("total_bandwidth") != nullptr) == (pairs == std::string_view("together")));
  }
  const Result one_way =
      in_network(world, network, "streaming", {{"long", "1000"}, {"time_ms", "200"}, {"ways", "one"}});
  if (world.rank == 0) EXPECT(near(figure(one_way, "total_bandwidth"), 1.5e6));
  const Result halves =
      in_network(world, network, "bisection", {{"long", "1000"}, {"time_ms", "100"}, {"halves", "9"}});
  if (world.rank != 0) return;
  EXPECT(near(figure(halves, "bandwidth"), 3e6));
  EXPECT(near(figure(halves, "bandwidth_per_process"), 0.75e6));
  EXPECT(table(halves, "bandwidth").values.size() == 10);
  // Rank 0 is in one of two pairs, so each random half contains a fast and a slow pair.
  EXPECT(near(figure(halves, "random_bandwidth_min"), 3e6));
  EXPECT(near(figure(halves, "random_bandwidth_max"), 3e6));
}
