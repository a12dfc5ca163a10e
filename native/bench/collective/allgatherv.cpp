// Allgatherv: Allgather with a count and a displacement for every rank; the counts are equal, as in IMB.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void allgatherv(Trial& t) {
  const EqualCounts v(t);
  const Blocks b = allgather_blocks(t);
  t.per_call([&](std::int64_t) {
    MPI_Allgatherv(b.in.next(), b.count, MPI_BYTE, b.out.next(), v.counts.data(), v.displacements.data(), MPI_BYTE,
                   t.comm());
  });
}

BENCHMARK(allgatherv,
          .summary = "allgather with counts and displacements, equal blocks",
          .source = "Intel MPI Benchmarks, Allgatherv; OSU micro-benchmarks, osu_allgatherv",
          .aka = {"Allgatherv", "osu_allgatherv"},
          .sampling = Sampling::per_call);
