// Ialltoallv: share of an alltoallv that overlaps with computation.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void ialltoallv(Trial& t) {
  const EqualCounts v(t);
  const Blocks b = alltoall_blocks(t);
  t.overlapped([&](std::int64_t) {
    MPI_Request request;
    MPI_Ialltoallv(b.in.next(), v.counts.data(), v.displacements.data(), MPI_BYTE, b.out.next(), v.counts.data(),
                   v.displacements.data(), MPI_BYTE, t.comm(), &request);
    return request;
  });
}

BENCHMARK(ialltoallv,
          .summary = "alltoallv overlapped with computation",
          .source = "Intel MPI Benchmarks, Ialltoallv (IMB-NBC); OSU micro-benchmarks, osu_ialltoallv",
          .aka = {"Ialltoallv", "osu_ialltoallv"},
          .sampling = Sampling::overlapped,
          .axes = {progress_axis()});
