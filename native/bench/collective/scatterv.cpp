// Scatterv: Scatter with a count and a displacement for every rank; the counts are equal, as in IMB.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void scatterv(Trial& t) {
  const EqualCounts v(t);
  const Blocks b = scatter_blocks(t);
  t.per_call([&](std::int64_t call) {
    MPI_Scatterv(b.in.next(), v.counts.data(), v.displacements.data(), MPI_BYTE, b.out.next(), b.count, MPI_BYTE,
                 t.root_of(call), t.comm());
  });
}

BENCHMARK(scatterv,
          .summary = "scatter with counts and displacements, equal blocks",
          .source = "Intel MPI Benchmarks, Scatterv; OSU micro-benchmarks, osu_scatterv",
          .aka = {"Scatterv", "osu_scatterv"},
          .sampling = Sampling::per_call,
          .axes = root_axes());
