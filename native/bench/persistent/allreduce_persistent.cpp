// Persistent allreduce: the sum of the vectors of all ranks, on all ranks, set up once.
#include "bench/collective/layouts.hpp"
#include "bench/persistent/calls.hpp"

using namespace kiviat;

static void allreduce_persistent(Trial& t) {
  using Call = int(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*);
  Call* const init = optional_call<Call>("Allreduce_init", "4.0");
  const Vectors v = allreduce_vectors(t);
  persistent_calls(t, [&](MPI_Request* request) {
    init(v.in.next(), v.out.next(), v.elements, MPI_FLOAT, MPI_SUM, t.comm(), MPI_INFO_NULL, request);
  });
}

BENCHMARK(allreduce_persistent,
          .summary = "allreduce that is set up once, then started and completed",
          .source = "OSU micro-benchmarks 7, osu_allreduce_persistent",
          .aka = {"osu_allreduce_persistent"},
          .sampling = Sampling::per_call,
          .element_bytes = sizeof(float),
          .section = "collective");
