// Scatter: the root sends a block to every rank.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void scatter(Trial& t) {
  const Blocks b = scatter_blocks(t);
  t.per_call([&](std::int64_t call) {
    MPI_Scatter(b.in.next(), b.count, MPI_BYTE, b.out.next(), b.count, MPI_BYTE, t.root_of(call), t.comm());
  });
}

BENCHMARK(scatter,
          .summary = "the root sends every rank a block",
          .source = "Intel MPI Benchmarks, Scatter; OSU micro-benchmarks, osu_scatter",
          .aka = {"Scatter", "osu_scatter"},
          .sampling = Sampling::per_call,
          .axes = root_axes());
