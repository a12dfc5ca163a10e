// Latency with threads: each thread of a rank plays ping-pong with its counterpart, all at the same time.
#include "bench/threads/pairs.hpp"

using namespace kiviat;

static void latency_mt(Trial& t) {
  ThreadPairs pairs(t);
  pairs.sends(t);
  pairs.receives(t);
  const int peer = pairs.halves.partner, count = pairs.count;
  const auto play = [&](int thread, std::int64_t calls) {
    const auto [comm, tag] = pairs.channel(thread);
    Buffer &out = pairs.out(thread), &in = pairs.in(thread);
    for (std::int64_t i = 0; i < calls; ++i) {
      if (pairs.halves.first) MPI_Send(out.next(), count, MPI_BYTE, peer, tag, comm);
      MPI_Recv(in.next(), count, MPI_BYTE, peer, tag, comm, MPI_STATUS_IGNORE);
      if (!pairs.halves.first) MPI_Send(out.next(), count, MPI_BYTE, peer, tag, comm);
    }
  };
  t.batched_loops([&](std::int64_t, std::int64_t calls) { pairs.team([&](int thread) { play(thread, calls); }); },
                  {.divisor = 2, .messages = 1, .least_s = ThreadPairs::least_batch_s});
}

BENCHMARK(latency_mt,
          .summary = "half of the round-trip time while several threads of each rank play ping-pong",
          .source = "Intel MPI Benchmarks, PingPongMT (IMB-MT); Thakur and Gropp, Test Suite for Evaluating Performance of "
                    "Multithreaded MPI Communication, Parallel Computing 35 (2009)",
          .aka = {"PingPongMT"},
          .ranks = pairs(),
          .bandwidth = true,
          .threads = true,
          .axes = thread_axes());
