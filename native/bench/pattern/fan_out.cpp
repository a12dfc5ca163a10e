// Fan-out (outcast): rank 0 sends to a growing number of ranks at once.
#include "bench/pattern/fan.hpp"

using namespace kiviat;

static void fan_out(Trial& t) {
  Fan fan(t, Fan::Way::out);
  t.study(std::ref(fan));
}

BENCHMARK(fan_out,
          .summary = "rank 0 sends windows of messages to 1, 2, 4 … and all other ranks at once",
          .source = "OSU micro-benchmarks 7.5, osu_bw_fan_out; the sweep over receivers and the round trips are Kiviat's",
          .aka = {"osu_bw_fan_out", "outcast"},
          .sampling = Sampling::study,
          .sizes = study_sizes,
          .reports = fan_reports("receivers"),
          .nominal_s = 0.3,
          .axes = fan_axes("receivers"),
          .section = "pairs",
          .place = 7,
          .tabled = false);
