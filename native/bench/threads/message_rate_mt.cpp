// Message rate with threads: each thread keeps a window of messages in flight to its counterpart, which answers when
// the window is complete. Bandwidth and message rate over all threads of all pairs.
#include "bench/threads/pairs.hpp"

using namespace kiviat;

static void message_rate_mt(Trial& t) {
  const int window = window_of(t);
  ThreadPairs pairs(t);
  const bool sender = pairs.halves.first;
  if (sender)
    pairs.sends(t);
  else
    pairs.receives(t);
  const int peer = pairs.halves.partner, count = pairs.count, answer = pairs.team.size();
  const auto flood = [&](int thread, std::int64_t calls) {
    const auto [comm, tag] = pairs.channel(thread);
    Buffer& data = sender ? pairs.out(thread) : pairs.in(thread);
    std::vector<MPI_Request> requests(window);
    for (std::int64_t i = 0; i < calls; ++i) {
      for (MPI_Request& request : requests) {
        if (sender)
          MPI_Isend(data.next(), count, MPI_BYTE, peer, tag, comm, &request);
        else
          MPI_Irecv(data.next(), count, MPI_BYTE, peer, tag, comm, &request);
      }
      MPI_Waitall(window, requests.data(), MPI_STATUSES_IGNORE);
      if (sender)
        MPI_Recv(nullptr, 0, MPI_BYTE, peer, answer + tag, comm, MPI_STATUS_IGNORE);
      else
        MPI_Send(nullptr, 0, MPI_BYTE, peer, answer + tag, comm);
    }
  };
  t.batched_loops([&](std::int64_t, std::int64_t calls) { pairs.team([&](int thread) { flood(thread, calls); }); },
                  {.divisor = static_cast<double>(window),
                   .messages = static_cast<double>(pairs.halves.pairs) * pairs.team.size(),
                   .least_s = ThreadPairs::least_batch_s});
}

BENCHMARK(message_rate_mt,
          .summary = "windows of messages in flight from several threads of half of the ranks to the other half",
          .source = "Intel MPI Benchmarks, UniBandMT (IMB-MT); Thakur and Gropp, Test Suite for Evaluating Performance of "
                    "Multithreaded MPI Communication, Parallel Computing 35 (2009)",
          .aka = {"UniBandMT"},
          .ranks = pairs(),
          .bandwidth = true,
          .message_rate = true,
          .threads = true,
          .axes = thread_axes({window_axis()}));
