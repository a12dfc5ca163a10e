// Igatherv: share of a gatherv that overlaps with computation.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void igatherv(Trial& t) {
  const EqualCounts v(t);
  const Blocks b = gather_blocks(t);
  t.overlapped([&](std::int64_t call) {
    MPI_Request request;
    MPI_Igatherv(b.in.next(), b.count, MPI_BYTE, b.out.next(), v.counts.data(), v.displacements.data(), MPI_BYTE,
                 t.root_of(call), t.comm(), &request);
    return request;
  });
}

BENCHMARK(igatherv,
          .summary = "gatherv overlapped with computation",
          .source = "Intel MPI Benchmarks, Igatherv (IMB-NBC); OSU micro-benchmarks, osu_igatherv",
          .aka = {"Igatherv", "osu_igatherv"},
          .sampling = Sampling::overlapped,
          .axes = root_axes({progress_axis()}));
