// Iallreduce: share of an allreduce that overlaps with computation.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void iallreduce(Trial& t) {
  const Vectors v = allreduce_vectors(t);
  t.overlapped([&](std::int64_t) {
    MPI_Request request;
    MPI_Iallreduce(v.in.next(), v.out.next(), v.elements, MPI_FLOAT, MPI_SUM, t.comm(), &request);
    return request;
  });
}

BENCHMARK(iallreduce,
          .summary = "allreduce overlapped with computation",
          .source = "Intel MPI Benchmarks, Iallreduce (IMB-NBC); OSU micro-benchmarks, osu_iallreduce",
          .aka = {"Iallreduce", "osu_iallreduce"},
          .sampling = Sampling::overlapped,
          .element_bytes = sizeof(float),
          .axes = {progress_axis()});
