// Streaming bidirectional bandwidth: rank r of the first half and r + P/2 of the second saturate the links between them
// with MPI_Sendrecv. If the number of ranks is odd, the last rank sleeps.
#include <numeric>

#include "bench/pattern/flood.hpp"
#include "bench/pattern/pairings.hpp"

using namespace kiviat;

static void streaming(Trial& t) {
  const bool together = t.text("pairs") == "together";
  const auto ways = t.text("ways") == "both" ? Flood::Ways::both : Flood::Ways::one;
  Flood flood(t, t.integer("long"), seconds_of_axis(t, "time_ms"), ways);
  const int partner = far_partner(t.ranks(), t.rank()), pairs = t.ranks() / 2;
  t.study([&] {
    flood.verify(partner);
    double mine = NAN;
    for (int pair = 0; pair < (together ? 1 : pairs); ++pair) {
      const bool turn = together || t.rank() % pairs == pair;
      const double rate = flood.rate(turn ? partner : MPI_PROC_NULL);
      if (turn) mine = rate;
      t.progressed(static_cast<double>(pair + 1) / pairs);
    }

    std::vector<std::string> names;
    for (int pair = 0; pair < pairs; ++pair) names.push_back(std::to_string(pair) + "-" + std::to_string(pair + pairs));
    Table& table = t.table("pair_bandwidth", "B/s", "higher", {{"pair", names}});
    const std::vector<double> rates = flood.gathered(mine);
    if (t.rank() != 0) return;
    table.values = rates;
    t.report("pair_bandwidth", median(rates));
    t.report("pair_bandwidth_min", std::ranges::min(rates));
    t.report("pair_bandwidth_max", std::ranges::max(rates));
    if (together) t.report("total_bandwidth", std::accumulate(rates.begin(), rates.end(), 0.0));
  });
}

BENCHMARK(streaming,
          .summary = "pairs flood the links between both halves of the ranks in both directions",
          .source = "streaming bidirectional bandwidth; the untimed share is Kiviat's",
          .sampling = Sampling::study,
          .sized = false,
          .reports = {{"pair_bandwidth", "B/s", "higher", "sum over both directions of a pair, median over pairs"},
                      {"pair_bandwidth_min", "B/s", "higher"},
                      {"pair_bandwidth_max", "B/s", "higher"},
                      {"total_bandwidth", "B/s", "higher", "sum over all pairs at once"}},
          .nominal_s = 1.4,
          .axes = {{"pairs", "together", "", "together: all pairs at once; alone: one pair after another", {"together", "alone"}},
                   {"ways", "both", "", "both: MPI_Sendrecv; one: from the lower rank to the higher", {"both", "one"}},
                   time_axis("1000"),
                   long_axis("1048576")},
          .section = "pairs",
          .place = 3);
