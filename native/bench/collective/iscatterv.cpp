// Iscatterv: share of a scatterv that overlaps with computation.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void iscatterv(Trial& t) {
  const EqualCounts v(t);
  const Blocks b = scatter_blocks(t);
  t.overlapped([&](std::int64_t call) {
    MPI_Request request;
    MPI_Iscatterv(b.in.next(), v.counts.data(), v.displacements.data(), MPI_BYTE, b.out.next(), b.count, MPI_BYTE,
                  t.root_of(call), t.comm(), &request);
    return request;
  });
}

BENCHMARK(iscatterv,
          .summary = "scatterv overlapped with computation",
          .source = "Intel MPI Benchmarks, Iscatterv (IMB-NBC); OSU micro-benchmarks, osu_iscatterv",
          .aka = {"Iscatterv", "osu_iscatterv"},
          .sampling = Sampling::overlapped,
          .axes = root_axes({progress_axis()}));
