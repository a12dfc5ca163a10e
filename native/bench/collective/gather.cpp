// Gather: every rank sends its block to the root.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void gather(Trial& t) {
  const Blocks b = gather_blocks(t);
  t.per_call([&](std::int64_t call) {
    MPI_Gather(b.in.next(), b.count, MPI_BYTE, b.out.next(), b.count, MPI_BYTE, t.root_of(call), t.comm());
  });
}

BENCHMARK(gather,
          .summary = "a block of every rank reaches the root",
          .source = "Intel MPI Benchmarks, Gather; OSU micro-benchmarks, osu_gather",
          .aka = {"Gather", "osu_gather"},
          .sampling = Sampling::per_call,
          .axes = root_axes());
