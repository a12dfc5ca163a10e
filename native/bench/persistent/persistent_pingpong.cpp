// Persistent ping-pong: requests are set up once by MPI_Send_init and MPI_Recv_init, and started for each message. The
// same round trips with MPI_Isend and MPI_Irecv, in turn with them, tell what this saves.
#include "bench/pattern/settings.hpp"
#include "bench/persistent/calls.hpp"
#include "bench/persistent/compared_round_trips.hpp"
#include "bench/pt2pt/partners.hpp"

using namespace kiviat;

namespace {

class PersistentPingPong {
 public:
  explicit PersistentPingPong(Trial& t)
      : t_(t),
        peer_(1 - t.rank()),
        form_s_(seconds_of_axis(t, "form_ms")),
        m_(t, peer_),
        out_(m_.out.first().data()),
        in_(m_.in.first().data()) {}

  void operator()() {
    set_up();
    ComparedRoundTrips forms(t_, form_s_,
                             {{"time", [this](std::int64_t) { persistent(); }},
                              {"time_nonblocking", [this](std::int64_t) { nonblocking(); }}});
    forms();
    free();
    const std::vector<double>&ours = forms.half_s_of(0), others = forms.half_s_of(1);
    for (const double seconds : ours)
      if (t_.bytes() > 0) t_.report("bandwidth", static_cast<double>(t_.bytes()) / seconds);
    if (t_.deterministic()) {
      t_.note("gain", "unavailable: the simulator charges persistent and other requests the same");
      return;
    }
    for (std::size_t pass = 0; pass < ours.size(); ++pass) t_.report("gain", others[pass] / ours[pass]);
    report_init_time();
  }

 private:
  static constexpr int sending = 0, receiving = 1;

  void set_up() {
    MPI_Send_init(out_, m_.count, MPI_BYTE, peer_, 0, t_.comm(), &requests_[sending]);
    MPI_Recv_init(in_, m_.count, MPI_BYTE, peer_, 0, t_.comm(), &requests_[receiving]);
  }
  void free() {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }

  // Rank 0 starts both requests at once, rank 1 one after the other: it answers.
  void persistent() {
    if (t_.rank() == 0) {
      MPI_Startall(2, requests_);
      MPI_Waitall(2, requests_, MPI_STATUSES_IGNORE);
    } else {
      for (const int which : {receiving, sending}) {
        MPI_Start(&requests_[which]);
        MPI_Wait(&requests_[which], MPI_STATUS_IGNORE);
      }
    }
  }

  void nonblocking() {
    const MPI_Comm comm = t_.comm();
    MPI_Request requests[2];
    const auto send = [&] { MPI_Isend(out_, m_.count, MPI_BYTE, peer_, 0, comm, &requests[sending]); };
    const auto receive = [&] { MPI_Irecv(in_, m_.count, MPI_BYTE, peer_, 0, comm, &requests[receiving]); };
    if (t_.rank() == 0) {
      send(), receive();
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
      receive(), MPI_Wait(&requests[receiving], MPI_STATUS_IGNORE);
      send(), MPI_Wait(&requests[sending], MPI_STATUS_IGNORE);
    }
  }

  void report_init_time() {
    const auto once = [&](std::int64_t) { set_up(), free(); };
    const std::int64_t calls = t_.calls_lasting(form_s_, 1'000'000, once);
    for (int pass = 0; pass < 7; ++pass)
      t_.report("init_time", t_.seconds_of(calls, once) / static_cast<double>(calls));
  }

  Trial& t_;
  int peer_;
  double form_s_;
  Messages m_;
  std::byte *out_, *in_;
  MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

}  // namespace

static void persistent_pingpong(Trial& t) {
  t.refuse_rotation("a persistent request");
  PersistentPingPong study(t);
  t.study(std::ref(study));
}

BENCHMARK(persistent_pingpong,
          .summary = "ping-pong with persistent requests, and what they save over MPI_Isend and MPI_Irecv",
          .source = "OSU micro-benchmarks 7, osu_latency_persistent; the comparison is Kiviat's",
          .aka = {"osu_latency_persistent"},
          .sampling = Sampling::study,
          .ranks = exactly(2),
          .sizes = "8,1024,65536,1048576",
          .reports = {{"time", "s", "lower", "half of a round trip with persistent requests"},
                      {"time_nonblocking", "s", "lower", "half of a round trip with MPI_Isend and MPI_Irecv"},
                      {"gain", "1", "higher", "time_nonblocking, relative to time"},
                      {"bandwidth", "B/s", "higher", "message size over time"},
                      {"init_time", "s", "lower", "setting up and freeing both requests of a rank"}},
          .nominal_s = 0.3,
          .axes = {form_axis()},
          .section = "pt2pt",
          .tabled = false);
