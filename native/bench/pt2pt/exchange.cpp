// Exchange: every rank exchanges messages with both neighbours in a periodic chain, like codes that update halos. All
// four messages have separate buffers, so that each is checked.
#include "bench/pt2pt/partners.hpp"

using namespace kiviat;

static void exchange(Trial& t) {
  const int count = t.count();
  const Chain chain(t);
  const int left = chain.left, right = chain.right;
  const MPI_Comm comm = t.comm();
  const std::size_t bytes = t.bytes();
  Buffer& out = t.buffer(2 * bytes);  // first half for the right neighbour, second half for the left one
  Buffer& from_left = t.buffer(t.bytes());
  Buffer& from_right = t.buffer(t.bytes());
  t.sends(out);
  t.expects(from_left, {{0, bytes, left, 0}});
  t.expects(from_right, {{0, bytes, right, bytes}});

  constexpr int rightward = 0, leftward = 1;  // tags, because with two ranks both neighbours are the same rank
  t.batched(
      [&](std::int64_t) {
        MPI_Request requests[2];
        const std::byte* data = out.next();
        MPI_Isend(data, count, MPI_BYTE, right, rightward, comm, &requests[0]);
        MPI_Isend(data + bytes, count, MPI_BYTE, left, leftward, comm, &requests[1]);
        MPI_Recv(from_left.next(), count, MPI_BYTE, left, rightward, comm, MPI_STATUS_IGNORE);
        MPI_Recv(from_right.next(), count, MPI_BYTE, right, leftward, comm, MPI_STATUS_IGNORE);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      },
      {.messages = 4});  // per rank: two sent and two received
}

BENCHMARK(exchange,
          .summary = "every rank exchanges messages with both neighbours in a periodic chain",
          .source = "Intel MPI Benchmarks, Exchange",
          .aka = {"Exchange"},
          .bandwidth = true);
