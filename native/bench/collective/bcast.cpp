// Bcast: the root sends its vector to all ranks.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void bcast(Trial& t) {
  const int count = t.count();
  Buffer& data = bcast_buffer(t);
  t.per_call([&](std::int64_t call) { MPI_Bcast(data.next(), count, MPI_BYTE, t.root_of(call), t.comm()); });
}

BENCHMARK(bcast,
          .summary = "vector of the root reaches all ranks",
          .source = "Intel MPI Benchmarks, Bcast; OSU micro-benchmarks, osu_bcast",
          .aka = {"Bcast", "osu_bcast"},
          .sampling = Sampling::per_call,
          .axes = root_axes());
