// Ibcast: share of a bcast that overlaps with computation.
#include "bench/collective/layouts.hpp"

using namespace kiviat;

static void ibcast(Trial& t) {
  const int count = t.count();
  Buffer& data = bcast_buffer(t);
  t.overlapped([&](std::int64_t call) {
    MPI_Request request;
    MPI_Ibcast(data.next(), count, MPI_BYTE, t.root_of(call), t.comm(), &request);
    return request;
  });
}

BENCHMARK(ibcast,
          .summary = "bcast overlapped with computation",
          .source = "Intel MPI Benchmarks, Ibcast (IMB-NBC); OSU micro-benchmarks, osu_ibcast",
          .aka = {"Ibcast", "osu_ibcast"},
          .sampling = Sampling::overlapped,
          .axes = root_axes({progress_axis()}));
