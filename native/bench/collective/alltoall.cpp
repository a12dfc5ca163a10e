// Alltoall: every rank sends a different block to every rank.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void alltoall(Trial& t) {
  const Blocks b = alltoall_blocks(t);
  t.per_call(
      [&](std::int64_t) { MPI_Alltoall(b.in.next(), b.count, MPI_BYTE, b.out.next(), b.count, MPI_BYTE, t.comm()); });
}

BENCHMARK(alltoall,
          .summary = "every rank sends a different block to every rank",
          .source = "Intel MPI Benchmarks, Alltoall; OSU micro-benchmarks, osu_alltoall",
          .aka = {"Alltoall", "osu_alltoall"},
          .sampling = Sampling::per_call,
          .headlines = {{.title = "Alltoall, 1 KiB", .metric = "time", .bytes = 1024, .place = 9}});
