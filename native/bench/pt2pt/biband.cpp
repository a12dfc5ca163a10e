// Biband: each rank of the first half and its partner in the second half keep a window of messages in
// flight to one another. Bandwidth and message rate over all pairs, both directions together.
#include "bench/pt2pt/partners.hpp"

using namespace kiviat;

static void biband(Trial& t) {
  const int window = window_of(t);
  const Halves halves(t);
  const MPI_Comm comm = t.comm();
  const Messages m(t, halves.partner);

  std::vector<MPI_Request> requests(2 * static_cast<std::size_t>(window));
  const auto stream = [&](int messages) {
    for (int i = 0; i < messages; ++i) MPI_Irecv(m.in.next(), m.count, MPI_BYTE, halves.partner, 0, comm, &requests[i]);
    for (int i = 0; i < messages; ++i)
      MPI_Isend(m.out.next(), m.count, MPI_BYTE, halves.partner, 0, comm, &requests[messages + i]);
    MPI_Waitall(2 * messages, requests.data(), MPI_STATUSES_IGNORE);
  };
  refuse_free_streams(t, window, stream);
  t.batched([&](std::int64_t) { stream(window); },
            {.divisor = static_cast<double>(window), .messages = 2.0 * halves.pairs});
}

BENCHMARK(biband,
          .summary = "a window of messages in flight in both directions between the halves of the ranks",
          .source = "Intel MPI Benchmarks, Biband; OSU micro-benchmarks, osu_bibw",
          .aka = {"Biband", "osu_bibw"},
          .ranks = pairs(),
          .bandwidth = true,
          .message_rate = true,
          .axes = {window_axis()},
          .headlines = {{.title = "Peak bandwidth, both ways", .metric = "bandwidth", .place = 5}});
