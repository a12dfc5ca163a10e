// PingPing: both ranks send at once, so that messages cross each other.
#include "bench/pt2pt/partners.hpp"

using namespace kiviat;

static void pingping(Trial& t) {
  const int peer = 1 - t.rank();
  const MPI_Comm comm = t.comm();
  const Messages m(t, peer);

  t.batched(
      [&](std::int64_t) {
        MPI_Request request;
        MPI_Isend(m.out.next(), m.count, MPI_BYTE, peer, 0, comm, &request);
        MPI_Recv(m.in.next(), m.count, MPI_BYTE, peer, 0, comm, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      },
      {.messages = 1});
}

BENCHMARK(pingping,
          .summary = "time of one message between two ranks while another comes the other way",
          .source = "Intel MPI Benchmarks, PingPing",
          .aka = {"PingPing"},
          .ranks = exactly(2),
          .bandwidth = true,
          .axes = {distance_axis()});
