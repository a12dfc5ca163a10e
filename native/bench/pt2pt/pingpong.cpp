// PingPong: a message goes to the other rank and comes back; the time is half of the round trip.
#include "bench/pt2pt/partners.hpp"

using namespace kiviat;

static void pingpong(Trial& t) {
  const int peer = 1 - t.rank();
  const MPI_Comm comm = t.comm();
  const Messages m(t, peer);

  const auto send = [&] { MPI_Send(m.out.next(), m.count, MPI_BYTE, peer, 0, comm); };
  const auto receive = [&] { MPI_Recv(m.in.next(), m.count, MPI_BYTE, peer, 0, comm, MPI_STATUS_IGNORE); };
  t.batched(
      [&](std::int64_t) {
        if (t.rank() == 0) {
          send(), receive();
        } else {
          receive(), send();
        }
      },
      {.divisor = 2, .messages = 1, .initiator = true});
}

BENCHMARK(pingpong,
          .summary = "half of the round-trip time of one message between two ranks",
          .source = "Intel MPI Benchmarks, PingPong; OSU micro-benchmarks, osu_latency",
          .aka = {"PingPong", "osu_latency"},
          .ranks = exactly(2),
          .bandwidth = true,
          .axes = {distance_axis()},
          .headlines = {{.title = "Latency, 1 B", .metric = "time", .bytes = 1, .place = 1},
                        {.title = "Latency, 8 B", .metric = "time", .bytes = 8, .place = 2},
                        {.title = "Peak bandwidth, ping-pong", .metric = "bandwidth", .place = 3}});
