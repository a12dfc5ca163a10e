// Allgather: every rank sends its block to all ranks.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void allgather(Trial& t) {
  const Blocks b = allgather_blocks(t);
  t.per_call(
      [&](std::int64_t) { MPI_Allgather(b.in.next(), b.count, MPI_BYTE, b.out.next(), b.count, MPI_BYTE, t.comm()); });
}

BENCHMARK(allgather,
          .summary = "a block of every rank reaches all ranks",
          .source = "Intel MPI Benchmarks, Allgather; OSU micro-benchmarks, osu_allgather",
          .aka = {"Allgather", "osu_allgather"},
          .sampling = Sampling::per_call);
