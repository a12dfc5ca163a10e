// Reduce_scatter: the sum of the vectors of all ranks, distributed over the ranks. FLOAT and SUM as in IMB.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void reduce_scatter(Trial& t) {
  const SplitVectors v = reduce_scatter_vectors(t);
  t.per_call([&](std::int64_t) {
    MPI_Reduce_scatter(v.in.next(), v.out.next(), v.counts.data(), MPI_FLOAT, MPI_SUM, t.comm());
  });
}

BENCHMARK(reduce_scatter,
          .summary = "sum of a vector over all ranks, a part of it on each rank",
          .source = "Intel MPI Benchmarks, Reduce_scatter; OSU micro-benchmarks, osu_reduce_scatter",
          .aka = {"Reduce_scatter", "osu_reduce_scatter"},
          .sampling = Sampling::per_call,
          .element_bytes = sizeof(float),
          .axes = {meaning_axis()});
