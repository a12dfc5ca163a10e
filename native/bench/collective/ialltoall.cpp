// Ialltoall: share of an alltoall that overlaps with computation.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void ialltoall(Trial& t) {
  const Blocks b = alltoall_blocks(t);
  t.overlapped([&](std::int64_t) {
    MPI_Request request;
    MPI_Ialltoall(b.in.next(), b.count, MPI_BYTE, b.out.next(), b.count, MPI_BYTE, t.comm(), &request);
    return request;
  });
}

BENCHMARK(ialltoall,
          .summary = "alltoall overlapped with computation",
          .source = "Intel MPI Benchmarks, Ialltoall (IMB-NBC); OSU micro-benchmarks, osu_ialltoall",
          .aka = {"Ialltoall", "osu_ialltoall"},
          .sampling = Sampling::overlapped,
          .axes = {progress_axis()});
