// Gatherv: Gather with a count and a displacement for every rank; the counts are equal, as in IMB.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void gatherv(Trial& t) {
  const EqualCounts v(t);
  const Blocks b = gather_blocks(t);
  t.per_call([&](std::int64_t call) {
    MPI_Gatherv(b.in.next(), b.count, MPI_BYTE, b.out.next(), v.counts.data(), v.displacements.data(), MPI_BYTE,
                t.root_of(call), t.comm());
  });
}

BENCHMARK(gatherv,
          .summary = "gather with counts and displacements, equal blocks",
          .source = "Intel MPI Benchmarks, Gatherv; OSU micro-benchmarks, osu_gatherv",
          .aka = {"Gatherv", "osu_gatherv"},
          .sampling = Sampling::per_call,
          .axes = root_axes());
