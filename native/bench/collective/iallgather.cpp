// Iallgather: share of an allgather that overlaps with computation.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void iallgather(Trial& t) {
  const Blocks b = allgather_blocks(t);
  t.overlapped([&](std::int64_t) {
    MPI_Request request;
    MPI_Iallgather(b.in.next(), b.count, MPI_BYTE, b.out.next(), b.count, MPI_BYTE, t.comm(), &request);
    return request;
  });
}

BENCHMARK(iallgather,
          .summary = "allgather overlapped with computation",
          .source = "Intel MPI Benchmarks, Iallgather (IMB-NBC); OSU micro-benchmarks, osu_iallgather",
          .aka = {"Iallgather", "osu_iallgather"},
          .sampling = Sampling::overlapped,
          .axes = {progress_axis()});
