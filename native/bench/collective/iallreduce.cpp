// Iallreduce: how much of an allreduce hides behind computation.
#include "core/trial.hpp"

using namespace kiviat;

static void iallreduce(Trial& t) {
  Buffer& in = t.buffer(t.bytes());
  Buffer& out = t.buffer(t.bytes());
  const int elements = t.count() / static_cast<int>(sizeof(float));
  t.contributes(in, elements);
  t.expects_sum(out, elements);
  t.overlapped([&](std::int64_t) {
    MPI_Request request;
    MPI_Iallreduce(in.next(), out.next(), elements, MPI_FLOAT, MPI_SUM, t.comm(), &request);
    return request;
  });
}

BENCHMARK(iallreduce,
          .summary = "allreduce beside computation",
          .source = "Intel MPI Benchmarks, Iallreduce (IMB-NBC); OSU micro-benchmarks, osu_iallreduce",
          .aka = {"Iallreduce", "osu_iallreduce"},
          .sampling = Sampling::overlapped,
          .element_bytes = sizeof(float),
          .axes = {progress_axis()});
