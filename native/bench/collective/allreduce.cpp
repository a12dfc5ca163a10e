// Allreduce: the sum of everybody's vector, on every rank. FLOAT and SUM as in IMB.
#include "core/trial.hpp"

using namespace kiviat;

static void allreduce(Trial& t) {
  Buffer& in = t.buffer(t.bytes());
  Buffer& out = t.buffer(t.bytes());
  const int elements = t.count() / static_cast<int>(sizeof(float));
  t.contributes(in, elements);
  t.expects_sum(out, elements);
  t.per_call([&](std::int64_t) { MPI_Allreduce(in.next(), out.next(), elements, MPI_FLOAT, MPI_SUM, t.comm()); });
}

BENCHMARK(allreduce,
          .summary = "sum of a vector over all ranks, on all ranks",
          .source = "Intel MPI Benchmarks, Allreduce; OSU micro-benchmarks, osu_allreduce",
          .aka = {"Allreduce", "osu_allreduce"},
          .sampling = Sampling::per_call,
          .element_bytes = sizeof(float));
