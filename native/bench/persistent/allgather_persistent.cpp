// Persistent allgather: every rank sends its block to all ranks, set up once.
#include "bench/collective/layouts.hpp"
#include "bench/persistent/calls.hpp"

using namespace kiviat;

static void allgather_persistent(Trial& t) {
  using Call = int(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);
  Call* const init = optional_call<Call>("Allgather_init", "4.0");
  const Blocks b = allgather_blocks(t);
  persistent_calls(t, [&](MPI_Request* request) {
    init(b.in.next(), b.count, MPI_BYTE, b.out.next(), b.count, MPI_BYTE, t.comm(), MPI_INFO_NULL, request);
  });
}

BENCHMARK(allgather_persistent,
          .summary = "allgather that is set up once, then started and completed",
          .source = "OSU micro-benchmarks 7, osu_allgather_persistent",
          .aka = {"osu_allgather_persistent"},
          .sampling = Sampling::per_call,
          .section = "collective");
