// Persistent alltoall: every rank sends a different block to every rank, set up once.
#include "bench/collective/layouts.hpp"
#include "bench/persistent/calls.hpp"

using namespace kiviat;

static void alltoall_persistent(Trial& t) {
  using Call = int(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);
  Call* const init = optional_call<Call>("Alltoall_init", "4.0");
  const Blocks b = alltoall_blocks(t);
  persistent_calls(t, [&](MPI_Request* request) {
    init(b.in.next(), b.count, MPI_BYTE, b.out.next(), b.count, MPI_BYTE, t.comm(), MPI_INFO_NULL, request);
  });
}

BENCHMARK(alltoall_persistent,
          .summary = "alltoall that is set up once, then started and completed",
          .source = "OSU micro-benchmarks 7, osu_alltoall_persistent",
          .aka = {"osu_alltoall_persistent"},
          .sampling = Sampling::per_call,
          .section = "collective");
