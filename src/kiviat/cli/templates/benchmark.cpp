// YOUR_NAME: a message goes around the ring of all ranks; the time is that of one hop.
#include "bench/pt2pt/partners.hpp"

using namespace kiviat;

static void YOUR_NAME(Trial& t) {
  const Chain ring(t);
  const MPI_Comm comm = t.comm();
  // Buffers for what this rank sends, and for what its left neighbour sends it. They declare both payloads to the
  // framework, which checks them before and after the timed part.
  const Messages m(t, ring.left);

  const auto send = [&] { MPI_Send(m.out.next(), m.count, MPI_BYTE, ring.right, 0, comm); };
  const auto receive = [&] { MPI_Recv(m.in.next(), m.count, MPI_BYTE, ring.left, 0, comm, MPI_STATUS_IGNORE); };
  // The lambda holds what is timed, and nothing else.
  t.batched(
      [&](std::int64_t) {
        if (t.rank() == 0) {
          send(), receive();
        } else {
          receive(), send();
        }
      },
      {.divisor = static_cast<double>(t.ranks()), .messages = 1, .initiator = true});
}

BENCHMARK(YOUR_NAME,
          .summary = "time of one hop of a message that goes around the ring of all ranks",
          .source = "state where its definition is from",
          .ranks = at_least(2),
          .bandwidth = true);
