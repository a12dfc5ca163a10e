// PingPing: both ranks send at once, so that each message meets an oncoming one.
#include "bench/pt2pt/partners.hpp"

using namespace kiviat;

static void pingping(Trial& t) {
  const int count = t.count(), peer = 1 - t.rank();
  const MPI_Comm comm = t.comm();
  Buffer& out = t.buffer(t.bytes());
  Buffer& in = t.buffer(t.bytes());
  t.sends(out);
  t.expects(in, {{0, in.first().size(), peer}});

  t.batched(
      [&](std::int64_t) {
        MPI_Request request;
        MPI_Isend(out.next(), count, MPI_BYTE, peer, 0, comm, &request);
        MPI_Recv(in.next(), count, MPI_BYTE, peer, 0, comm, MPI_STATUS_IGNORE);
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
