// Persistent bcast: rank 0 sends its vector to all ranks, set up once. A request has one root.
#include "bench/collective/layouts.hpp"
#include "bench/persistent/calls.hpp"

using namespace kiviat;

static void bcast_persistent(Trial& t) {
  using Call = int(void*, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request*);
  Call* const init = optional_call<Call>("Bcast_init", "4.0");
  const int count = t.count();
  Buffer& data = bcast_buffer(t);
  persistent_calls(t, [&](MPI_Request* request) {
    init(data.next(), count, MPI_BYTE, t.root_of(0), t.comm(), MPI_INFO_NULL, request);
  });
}

BENCHMARK(bcast_persistent,
          .summary = "bcast from rank 0 that is set up once, then started and completed",
          .source = "OSU micro-benchmarks 7, osu_bcast_persistent",
          .aka = {"osu_bcast_persistent"},
          .sampling = Sampling::per_call,
          .section = "collective");
