// Fan-in (incast): a growing number of ranks send to rank 0 at once.
#include "bench/pattern/fan.hpp"

using namespace kiviat;

static void fan_in(Trial& t) {
  Fan fan(t, Fan::Way::in);
  t.study(std::ref(fan));
}

BENCHMARK(fan_in,
          .summary = "1, 2, 4 … and all other ranks send windows of messages to rank 0 at once",
          .source = "OSU micro-benchmarks 7.5, osu_bw_fan_in; the sweep over senders and the round trips are Kiviat's",
          .aka = {"osu_bw_fan_in", "incast"},
          .sampling = Sampling::study,
          .sizes = study_sizes,
          .reports = fan_reports("senders"),
          .nominal_s = 0.3,
          .axes = fan_axes("senders"),
          .section = "pairs",
          .place = 6,
          .tabled = false);
