// Reduce: the sum of the vectors of all ranks, on the root. FLOAT and SUM as in IMB.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void reduce(Trial& t) {
  const Vectors v = reduce_vectors(t);
  t.per_call([&](std::int64_t call) {
    MPI_Reduce(v.in.next(), v.out.next(), v.elements, MPI_FLOAT, MPI_SUM, t.root_of(call), t.comm());
  });
}

BENCHMARK(reduce,
          .summary = "sum of a vector over all ranks, on the root",
          .source = "Intel MPI Benchmarks, Reduce; OSU micro-benchmarks, osu_reduce",
          .aka = {"Reduce", "osu_reduce"},
          .sampling = Sampling::per_call,
          .element_bytes = sizeof(float),
          .axes = root_axes());
