// Barrier: no rank leaves before all have entered.
#include "measure/trial.hpp"

using namespace kiviat;

static void barrier(Trial& t) {
  t.check_by([&] { return t.separates([&] { MPI_Barrier(t.comm()); }); });
  t.per_call([&](std::int64_t) { MPI_Barrier(t.comm()); });
}

BENCHMARK(barrier,
          .summary = "no rank leaves before all have entered",
          .source = "Intel MPI Benchmarks, Barrier; OSU micro-benchmarks, osu_barrier",
          .aka = {"Barrier", "osu_barrier"},
          .sampling = Sampling::per_call,
          .sized = false,
          .buffers = false,
          .headlines = {{.title = "Barrier", .metric = "time", .place = 7}},
          .problem = ProblemSize{.counts = "ranks", .each = true});
