// Bisection bandwidth: one half of the ranks exchanges messages with the other half: first ranks r and r + P/2, then
// seeded random halves. If the number of ranks is odd, one rank sleeps: the last, or the last of the shuffle.
#include <numeric>

#include "bench/pattern/flood.hpp"
#include "bench/pattern/pairings.hpp"

using namespace kiviat;

static void bisection(Trial& t) {
  const int halves = t.count_of("halves");
  Flood flood(t, t.integer("long"), seconds_of_axis(t, "time_ms"));
  t.study([&] {
    std::vector<std::string> names = {"fixed"};
    for (int half = 1; half <= halves; ++half) names.push_back("random " + std::to_string(half));
    Table& table = t.table("bandwidth", "B/s", "higher", {{"halves", names}});
    for (int half = 0; half <= halves; ++half) {
      const int partner =
          half == 0 ? far_partner(t.ranks(), t.rank())
                    : partner_across(random_order(t.ranks(), t.seed() + static_cast<std::uint64_t>(half)), t.rank());
      flood.verify(partner);
      const std::vector<double> rates = flood.gathered(flood.rate(partner));
      table.values[half] = std::accumulate(rates.begin(), rates.end(), 0.0);
      t.progressed(static_cast<double>(half + 1) / (halves + 1));
    }
    t.report("bandwidth", table.values.front());
    t.report("bandwidth_per_process", table.values.front() / (2 * (t.ranks() / 2)));
    if (halves == 0) return;
    const std::vector<double> random(table.values.begin() + 1, table.values.end());
    t.report("random_bandwidth_min", std::ranges::min(random));
    t.report("random_bandwidth_max", std::ranges::max(random));
  });
}

BENCHMARK(bisection,
          .summary = "one half of the ranks floods the other half in both directions",
          .source = "bisection bandwidth by streaming; random halves are Kiviat's",
          .sampling = Sampling::study,
          .sized = false,
          .reports = {{"bandwidth", "B/s", "higher", "both directions of all pairs r and r + P/2"},
                      {"bandwidth_per_process", "B/s", "higher"},
                      {"random_bandwidth_min", "B/s", "higher", "both directions, minimum over random halves"},
                      {"random_bandwidth_max", "B/s", "higher", "both directions, maximum over random halves"}},
          .nominal_s = 4,
          .axes = {{"halves", "8", "halves", "random halves, seeded", Bounds{0, 1000}}, time_axis("250"), long_axis("1048576")},
          .section = "pairs",
          .place = 4,
          .headlines = {{.title = "Bisection, both ways", .metric = "bandwidth", .place = 13}});
