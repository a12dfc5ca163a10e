// Ireduce: share of a reduce that overlaps with computation.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void ireduce(Trial& t) {
  const Vectors v = reduce_vectors(t);
  t.overlapped([&](std::int64_t call) {
    MPI_Request request;
    MPI_Ireduce(v.in.next(), v.out.next(), v.elements, MPI_FLOAT, MPI_SUM, t.root_of(call), t.comm(), &request);
    return request;
  });
}

BENCHMARK(ireduce,
          .summary = "reduce overlapped with computation",
          .source = "Intel MPI Benchmarks, Ireduce (IMB-NBC); OSU micro-benchmarks, osu_ireduce",
          .aka = {"Ireduce", "osu_ireduce"},
          .sampling = Sampling::overlapped,
          .element_bytes = sizeof(float),
          .axes = root_axes({progress_axis()}));
