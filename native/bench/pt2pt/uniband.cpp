// Uniband: each rank of the first half keeps a window of messages in flight to its partner in the
// second half, which answers when the window is complete. Bandwidth and message rate over all pairs.
#include <span>

#include "bench/pt2pt/partners.hpp"

using namespace kiviat;

static void uniband(Trial& t) {
  const int count = t.count(), window = window_of(t);
  const Halves halves(t);
  const bool sender = halves.first;
  const int peer = halves.partner;
  const MPI_Comm comm = t.comm();
  Buffer& data = t.buffer(t.bytes());
  if (sender)
    t.sends(data);
  else
    t.expects(data, {{0, data.first().size(), peer}});

  std::vector<MPI_Request> requests(window);
  const auto stream = [&](int messages) {
    const std::span<MPI_Request> used(requests.data(), messages);
    if (sender) {
      for (MPI_Request& request : used) MPI_Isend(data.next(), count, MPI_BYTE, peer, 0, comm, &request);
      MPI_Waitall(messages, used.data(), MPI_STATUSES_IGNORE);
      MPI_Recv(nullptr, 0, MPI_BYTE, peer, 1, comm, MPI_STATUS_IGNORE);
    } else {
      for (MPI_Request& request : used) MPI_Irecv(data.next(), count, MPI_BYTE, peer, 0, comm, &request);
      MPI_Waitall(messages, used.data(), MPI_STATUSES_IGNORE);
      MPI_Send(nullptr, 0, MPI_BYTE, peer, 1, comm);
    }
  };
  refuse_free_streams(t, window, stream);
  t.batched([&](std::int64_t) { stream(window); },
            {.divisor = static_cast<double>(window), .messages = static_cast<double>(halves.pairs)});
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
