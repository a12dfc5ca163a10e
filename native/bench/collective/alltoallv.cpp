// Alltoallv: Alltoall with counts and displacements; the counts are equal, as in IMB.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void alltoallv(Trial& t) {
  const EqualCounts v(t);
  const Blocks b = alltoall_blocks(t);
  t.per_call([&](std::int64_t) {
    MPI_Alltoallv(b.in.next(), v.counts.data(), v.displacements.data(), MPI_BYTE, b.out.next(), v.counts.data(),
                  v.displacements.data(), MPI_BYTE, t.comm());
  });
}

BENCHMARK(alltoallv,
          .summary = "alltoall with counts and displacements, equal blocks",
          .source = "Intel MPI Benchmarks, Alltoallv; OSU micro-benchmarks, osu_alltoallv",
          .aka = {"Alltoallv", "osu_alltoallv"},
          .sampling = Sampling::per_call);
