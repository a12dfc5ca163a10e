// Ireduce_scatter: share of a reduce_scatter that overlaps with computation.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void ireduce_scatter(Trial& t) {
  const SplitVectors v = reduce_scatter_vectors(t);
  t.overlapped([&](std::int64_t) {
    MPI_Request request;
    MPI_Ireduce_scatter(v.in.next(), v.out.next(), v.counts.data(), MPI_FLOAT, MPI_SUM, t.comm(), &request);
    return request;
  });
}

BENCHMARK(ireduce_scatter,
          .summary = "reduce_scatter overlapped with computation",
          .source = "Intel MPI Benchmarks, Ireduce_scatter (IMB-NBC); OSU micro-benchmarks, osu_ireduce_scatter",
          .aka = {"Ireduce_scatter", "osu_ireduce_scatter"},
          .sampling = Sampling::overlapped,
          .element_bytes = sizeof(float),
          .axes = {meaning_axis(), progress_axis()});
