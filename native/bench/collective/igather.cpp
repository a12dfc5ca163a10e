// Igather: share of a gather that overlaps with computation.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void igather(Trial& t) {
  const Blocks b = gather_blocks(t);
  t.overlapped([&](std::int64_t call) {
    MPI_Request request;
    MPI_Igather(b.in.next(), b.count, MPI_BYTE, b.out.next(), b.count, MPI_BYTE, t.root_of(call), t.comm(), &request);
    return request;
  });
}

BENCHMARK(igather,
          .summary = "gather overlapped with computation",
          .source = "Intel MPI Benchmarks, Igather (IMB-NBC); OSU micro-benchmarks, osu_igather",
          .aka = {"Igather", "osu_igather"},
          .sampling = Sampling::overlapped,
          .axes = root_axes({progress_axis()}));
