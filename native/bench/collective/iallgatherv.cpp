// Iallgatherv: share of an allgatherv that overlaps with computation.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void iallgatherv(Trial& t) {
  const EqualCounts v(t);
  const Blocks b = allgather_blocks(t);
  t.overlapped([&](std::int64_t) {
    MPI_Request request;
    MPI_Iallgatherv(b.in.next(), b.count, MPI_BYTE, b.out.next(), v.counts.data(), v.displacements.data(), MPI_BYTE,
                    t.comm(), &request);
    return request;
  });
}

BENCHMARK(iallgatherv,
          .summary = "allgatherv overlapped with computation",
          .source = "Intel MPI Benchmarks, Iallgatherv (IMB-NBC); OSU micro-benchmarks, osu_iallgatherv",
          .aka = {"Iallgatherv", "osu_iallgatherv"},
          .sampling = Sampling::overlapped,
          .axes = {progress_axis()});
