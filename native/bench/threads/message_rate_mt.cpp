// Message rate with threads: each thread keeps a window of messages in flight to its counterpart, which answers when
// the window is complete. Bandwidth and message rate over all threads of all pairs.
#include "bench/threads/pairs.hpp"

using namespace kiviat;

static void message_rate_mt(Trial& t) {
  const int window = t.count_of("window"), checked = checked_window(window, t.bytes(), 2);
  ThreadPairs pairs(t);
  const bool sender = pairs.halves.first;
  std::vector<Buffer*> apart;
  const std::size_t apart_bytes = static_cast<std::size_t>(checked) * t.bytes();
  for (int thread = 0; thread < pairs.team.size(); ++thread) {
    Buffer& own = *apart.emplace_back(&t.checked_buffer(apart_bytes));
    const std::size_t offset = thread * apart_bytes;  // so that messages received by a wrong thread are detected
    if (sender)
      t.sends(own, apart_bytes, offset);
    else
      t.expects(own, {{0, apart_bytes, pairs.halves.partner, offset}});
  }
  const int peer = pairs.halves.partner, count = pairs.count, answer = pairs.team.size();
  const auto flood = [&](int thread, std::int64_t calls, int messages, auto place_of) {
    const auto [comm, tag] = pairs.channel(thread);
    std::vector<MPI_Request> requests(messages);
    for (std::int64_t call = 0; call < calls; ++call) {
      for (int i = 0; i < messages; ++i) {
        if (sender)
          MPI_Isend(place_of(i), count, MPI_BYTE, peer, tag, comm, &requests[i]);
        else
          MPI_Irecv(place_of(i), count, MPI_BYTE, peer, tag, comm, &requests[i]);
      }
      MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE);
      if (sender)
        MPI_Recv(nullptr, 0, MPI_BYTE, peer, answer + tag, comm, MPI_STATUS_IGNORE);
      else
        MPI_Send(nullptr, 0, MPI_BYTE, peer, answer + tag, comm);
    }
  };
  const auto timed = [&](std::int64_t, std::int64_t calls) {
    pairs.team([&](int thread) {
      Buffer& data = sender ? pairs.out(thread) : pairs.in(thread);
      flood(thread, calls, window, [&](int) { return data.next(); });
    });
  };
  const auto check = [&](std::int64_t) {
    pairs.team([&](int thread) {
      flood(thread, 1, checked, [&](int i) { return apart[thread]->first().data() + i * t.bytes(); });
    });
  };
  t.batched_loops(timed, {.divisor = static_cast<double>(window),
                          .messages = static_cast<double>(pairs.halves.pairs) * pairs.team.size(),
                          .least_s = ThreadPairs::least_batch_s,
                          .check = check});
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
