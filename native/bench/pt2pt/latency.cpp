// Latency: ping-pong of all pairs at once, every round trip timed by itself, so that its percentiles
// can be had. A sample is the slowest pair's; the mean over pairs stands beside it (osu_multi_lat).
#include "bench/pt2pt/partners.hpp"

using namespace kiviat;

static void latency(Trial& t) {
  const int count = t.count();
  const Halves halves(t);
  const MPI_Comm comm = t.comm();
  Buffer& out = t.buffer(t.bytes());
  Buffer& in = t.buffer(t.bytes());
  t.sends(out);
  t.expects(in, {{0, in.first().size(), halves.partner}});

  const auto send = [&] { MPI_Send(out.next(), count, MPI_BYTE, halves.partner, 0, comm); };
  const auto receive = [&] { MPI_Recv(in.next(), count, MPI_BYTE, halves.partner, 0, comm, MPI_STATUS_IGNORE); };
  t.per_call(
      [&](std::int64_t) {
        if (halves.first) {
          send(), receive();
        } else {
          receive(), send();
        }
      },
      {.divisor = 2, .round_trip = true, .timed = halves.first, .min_samples = 1000});
}

BENCHMARK(latency,
          .summary = "half of the round-trip time, call by call, of all pairs at once",
          .source = "OSU micro-benchmarks, osu_multi_lat and the percentiles of osu_latency",
          .aka = {"osu_multi_lat"},
          .sampling = Sampling::per_call,
          .ranks = pairs());
