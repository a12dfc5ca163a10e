// Allreduce: the sum of the vectors of all ranks, on all ranks. FLOAT and SUM as in IMB.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void allreduce(Trial& t) {
  const Vectors v = allreduce_vectors(t);
  t.per_call([&](std::int64_t) { MPI_Allreduce(v.in.next(), v.out.next(), v.elements, MPI_FLOAT, MPI_SUM, t.comm()); });
}

BENCHMARK(allreduce,
          .summary = "sum of a vector over all ranks, on all ranks",
          .source = "Intel MPI Benchmarks, Allreduce; OSU micro-benchmarks, osu_allreduce",
          .aka = {"Allreduce", "osu_allreduce"},
          .sampling = Sampling::per_call,
          .element_bytes = sizeof(float),
          .headlines = {{.title = "Allreduce, 8 B", .metric = "time", .bytes = 8, .place = 8}});
