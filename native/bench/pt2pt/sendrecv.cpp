// Sendrecv: a periodic chain. Every rank sends to its right neighbour and receives from its left one.
#include "bench/pt2pt/partners.hpp"

using namespace kiviat;

static void sendrecv(Trial& t) {
  const Chain chain(t);
  const MPI_Comm comm = t.comm();
  const Messages m(t, chain.left);

  t.batched(
      [&](std::int64_t) {
        MPI_Sendrecv(m.out.next(), m.count, MPI_BYTE, chain.right, 0, m.in.next(), m.count, MPI_BYTE, chain.left, 0,
                     comm, MPI_STATUS_IGNORE);
      },
      {.messages = 2});  // per rank: one sent and one received
}

BENCHMARK(sendrecv,
          .summary = "periodic chain: every rank sends to the right while it receives from the left",
          .source = "Intel MPI Benchmarks, Sendrecv",
          .aka = {"Sendrecv"},
          .bandwidth = true);
