// Biband: each rank of the first half and its partner in the second half keep a window of messages in
// flight to one another. Bandwidth and message rate over all pairs, both directions together.
#include "bench/pt2pt/partners.hpp"

using namespace kiviat;

static void biband(Trial& t) {
  const int count = t.count(), window = t.count_of("window"), checked = checked_window(window, t.bytes(), 2);
  const Halves halves(t);
  const int peer = halves.partner;
  const MPI_Comm comm = t.comm();
  const std::size_t apart_bytes = static_cast<std::size_t>(checked) * t.bytes();
  Buffer &out = t.buffer(t.bytes()), &in = t.buffer(t.bytes());
  Buffer &out_apart = t.checked_buffer(apart_bytes), &in_apart = t.checked_buffer(apart_bytes);
  t.sends(out_apart);
  t.expects(in_apart, {{0, apart_bytes, peer}});

  std::vector<MPI_Request> requests(2 * static_cast<std::size_t>(window));
  const auto stream = [&](int messages, auto from, auto into) {
    for (int i = 0; i < messages; ++i) MPI_Irecv(into(i), count, MPI_BYTE, peer, 0, comm, &requests[i]);
    for (int i = 0; i < messages; ++i) MPI_Isend(from(i), count, MPI_BYTE, peer, 0, comm, &requests[messages + i]);
    MPI_Waitall(2 * messages, requests.data(), MPI_STATUSES_IGNORE);
  };
  const auto timed = [&](int messages) {
    stream(messages, [&](int) { return out.next(); }, [&](int) { return in.next(); });
  };
  const auto place = [&](Buffer& buffer) { return [&](int i) { return buffer.first().data() + i * t.bytes(); }; };
  refuse_free_streams(t, window, timed);
  t.batched([&](std::int64_t) { timed(window); },
            {.divisor = static_cast<double>(window), .messages = 2.0 * halves.pairs, .check = [&](std::int64_t) {
               stream(checked, place(out_apart), place(in_apart));
             }});
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
