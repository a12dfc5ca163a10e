// Latency: ping-pong of all pairs at once, each round trip timed separately, which gives percentiles. A sample is the
// time of the slowest pair; the mean over pairs is reported too (osu_multi_lat).
#include "bench/pt2pt/partners.hpp"

using namespace kiviat;

static void latency(Trial& t) {
  const Halves halves(t);
  const MPI_Comm comm = t.comm();
  const Messages m(t, halves.partner);

  const auto send = [&] { MPI_Send(m.out.next(), m.count, MPI_BYTE, halves.partner, 0, comm); };
  const auto receive = [&] { MPI_Recv(m.in.next(), m.count, MPI_BYTE, halves.partner, 0, comm, MPI_STATUS_IGNORE); };
  t.per_call(
      [&](std::int64_t) {
        if (halves.first) {
          send(), receive();
        } else {
          receive(), send();
        }
      },
      {.divisor = 2, .timed = halves.first, .min_samples = 1000});
}

BENCHMARK(latency,
          .summary = "half of the round-trip time, call by call, of all pairs at once",
          .source = "OSU micro-benchmarks, osu_multi_lat and the percentiles of osu_latency",
          .aka = {"osu_multi_lat"},
          .sampling = Sampling::round_trips,
          .ranks = pairs());
