// Persistent barrier: no rank leaves before all have entered, set up once.
#include "bench/persistent/calls.hpp"

using namespace kiviat;

static void barrier_persistent(Trial& t) {
  using Call = int(MPI_Comm, MPI_Info, MPI_Request*);
  Call* const init = optional_call<Call>("Barrier_init", "4.0");
  PersistentCollective once([&](MPI_Request* request) { init(t.comm(), MPI_INFO_NULL, request); });
  t.check_by([&] { return t.separates([&] { once(); }); });
  t.per_call([&](std::int64_t) { once(); });
}

BENCHMARK(barrier_persistent,
          .summary = "barrier that is set up once, then started and completed",
          .source = "OSU micro-benchmarks 7, osu_barrier_persistent",
          .aka = {"osu_barrier_persistent"},
          .sampling = Sampling::per_call,
          .sized = false,
          .buffers = false,
          .section = "collective",
          .problem = ProblemSize{.counts = "ranks", .each = true});
