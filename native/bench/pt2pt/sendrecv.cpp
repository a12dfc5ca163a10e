// Sendrecv: a periodic chain. Every rank sends to its right neighbour and receives from its left one.
#include "core/trial.hpp"

using namespace kiviat;

static void sendrecv(Trial& t) {
  const int count = t.count();
  const int right = (t.rank() + 1) % t.ranks(), left = (t.rank() + t.ranks() - 1) % t.ranks();
  const MPI_Comm comm = t.comm();
  Buffer& out = t.buffer(t.bytes());
  Buffer& in = t.buffer(t.bytes());
  t.sends(out);
  t.expects(in, {{0, in.first().size(), left}});

  t.batched(
      [&](std::int64_t) {
        MPI_Sendrecv(out.next(), count, MPI_BYTE, right, 0, in.next(), count, MPI_BYTE, left, 0, comm, MPI_STATUS_IGNORE);
      },
      {.messages = 2});  // one out, one in: the bandwidth is that of a rank
}

BENCHMARK(sendrecv,
          .summary = "periodic chain: every rank sends to the right while it receives from the left",
          .source = "Intel MPI Benchmarks, Sendrecv",
          .aka = {"Sendrecv"},
          .bandwidth = true);
