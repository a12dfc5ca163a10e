// Iscatter: share of a scatter that overlaps with computation.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void iscatter(Trial& t) {
  const Blocks b = scatter_blocks(t);
  t.overlapped([&](std::int64_t call) {
    MPI_Request request;
    MPI_Iscatter(b.in.next(), b.count, MPI_BYTE, b.out.next(), b.count, MPI_BYTE, t.root_of(call), t.comm(), &request);
    return request;
  });
}

BENCHMARK(iscatter,
          .summary = "scatter overlapped with computation",
          .source = "Intel MPI Benchmarks, Iscatter (IMB-NBC); OSU micro-benchmarks, osu_iscatter",
          .aka = {"Iscatter", "osu_iscatter"},
          .sampling = Sampling::overlapped,
          .axes = root_axes({progress_axis()}));
