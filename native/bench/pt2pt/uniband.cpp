// Uniband: each rank of the first half keeps a window of messages in flight to its partner in the
// second half, which answers when the window is complete. Bandwidth and message rate over all pairs.
#include "bench/pt2pt/partners.hpp"

using namespace kiviat;

static void uniband(Trial& t) {
  const int count = t.count(), window = t.count_of("window"), checked = checked_window(window, t.bytes(), 2);
  const Halves halves(t);
  const bool sender = halves.first;
  const int peer = halves.partner;
  const MPI_Comm comm = t.comm();
  Buffer &data = t.buffer(t.bytes()), &apart = t.checked_buffer(static_cast<std::size_t>(checked) * t.bytes());
  if (sender)
    t.sends(apart);
  else
    t.expects(apart, {{0, apart.first().size(), peer}});

  std::vector<MPI_Request> requests(window);
  const auto stream = [&](int messages, auto place_of) {
    if (sender) {
      for (int i = 0; i < messages; ++i) MPI_Isend(place_of(i), count, MPI_BYTE, peer, 0, comm, &requests[i]);
      MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE);
      MPI_Recv(nullptr, 0, MPI_BYTE, peer, 1, comm, MPI_STATUS_IGNORE);
    } else {
      for (int i = 0; i < messages; ++i) MPI_Irecv(place_of(i), count, MPI_BYTE, peer, 0, comm, &requests[i]);
      MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE);
      MPI_Send(nullptr, 0, MPI_BYTE, peer, 1, comm);
    }
  };
  const auto timed = [&](int messages) { stream(messages, [&](int) { return data.next(); }); };
  refuse_free_streams(t, window, timed);
  t.batched(
      [&](std::int64_t) { timed(window); },
      {.divisor = static_cast<double>(window),
       .messages = static_cast<double>(halves.pairs),
       .check = [&](std::int64_t) { stream(checked, [&](int i) { return apart.first().data() + i * t.bytes(); }); }});
}

BENCHMARK(uniband,
          .summary = "a window of messages in flight from half of the ranks to the other half",
          .source = "Intel MPI Benchmarks, Uniband; OSU micro-benchmarks, osu_bw and osu_mbw_mr",
          .aka = {"Uniband", "osu_bw", "osu_mbw_mr"},
          .ranks = pairs(),
          .bandwidth = true,
          .message_rate = true,
          .axes = {window_axis()},
          .headlines = {{.title = "Peak bandwidth, one way", .metric = "bandwidth", .place = 4},
                        {.title = "Peak message rate", .metric = "message_rate", .place = 6}});
