// Ibarrier: share of a barrier that overlaps with computation.
#include "measure/trial.hpp"

using namespace kiviat;

static void ibarrier(Trial& t) {
  const auto start = [&](std::int64_t) {
    MPI_Request request;
    MPI_Ibarrier(t.comm(), &request);
    return request;
  };
  t.check_by([&] {
    return t.separates([&] {
      MPI_Request request = start(0);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
  });
  t.overlapped(start);
}

BENCHMARK(ibarrier,
          .summary = "barrier overlapped with computation",
          .source = "Intel MPI Benchmarks, Ibarrier (IMB-NBC); OSU micro-benchmarks, osu_ibarrier",
          .aka = {"Ibarrier", "osu_ibarrier"},
          .sampling = Sampling::overlapped,
          .sized = false,
          .buffers = false,
          .axes = {progress_axis()},
          .problem = ProblemSize{.counts = "ranks", .each = true});
