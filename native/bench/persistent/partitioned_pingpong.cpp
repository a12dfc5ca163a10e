// Partitioned ping-pong: a message whose partitions become ready one by one (MPI_Psend_init, MPI_Pready). The same
// round trips with one persistent message, and with one for each partition, in turn with them, tell what this costs or
// saves.
#include "bench/pattern/settings.hpp"
#include "bench/persistent/calls.hpp"
#include "bench/persistent/compared_round_trips.hpp"
#include "bench/pt2pt/partners.hpp"
#include "support/optional_call.hpp"

using namespace kiviat;

namespace {

// MPI 4.0, chapter 4. All types are those of MPI 3.
struct Partitioned {
  using SendInit = int(const void*, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request*);
  using ReceiveInit = int(void*, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request*);
  using Ready = int(int, MPI_Request);
  SendInit* send_init = optional_call<SendInit>("Psend_init", "4.0");
  ReceiveInit* receive_init = optional_call<ReceiveInit>("Precv_init", "4.0");
  Ready* ready = optional_call<Ready>("Pready", "4.0");
};

class PartitionedPingPong {
 public:
  explicit PartitionedPingPong(Trial& t)
      : t_(t),
        peer_(1 - t.rank()),
        partitions_(t.count_of("partitions")),
        form_s_(seconds_of_axis(t, "form_ms")),
        m_(t, peer_),
        out_(m_.out.first().data()),
        in_(m_.in.first().data()) {
    if (m_.count == 0) throw Skip("bytes=0: an empty message has no partitions; give at least 1");
    if (m_.count % partitions_ != 0)
      throw Skip("bytes=" + std::to_string(m_.count) + " cannot be divided into " + t.text("partitions") +
                 " equal partitions");
  }

  void operator()() {
    const int part = m_.count / partitions_;
    // Set up here, when all ranks are known to have their buffers.
    calls_.send_init(out_, partitions_, part, MPI_BYTE, peer_, 0, t_.comm(), MPI_INFO_NULL, &partitioned_[sending]);
    calls_.receive_init(in_, partitions_, part, MPI_BYTE, peer_, 0, t_.comm(), MPI_INFO_NULL, &partitioned_[receiving]);
    whole_.add(*this, 0, m_.count);
    for (int i = 0; i < partitions_; ++i) parts_.add(*this, i * part, part);
    ComparedRoundTrips forms(
        t_, form_s_,
        {{"time", [this](std::int64_t) { round_trip([this] { send(); }, [this] { receive(); }); }},
         {"time_whole", [this](std::int64_t) { round_trip([this] { run(whole_.out); }, [this] { run(whole_.in); }); }},
         {"time_parts",
          [this](std::int64_t) { round_trip([this] { run(parts_.out); }, [this] { run(parts_.in); }); }}});
    forms();
    for (MPI_Request& request : partitioned_) MPI_Request_free(&request);
    whole_.free(), parts_.free();
    for (const double seconds : forms.half_s_of(0)) t_.report("bandwidth", m_.count / seconds);
  }

 private:
  static constexpr int sending = 0, receiving = 1;

  // Persistent requests of several messages.
  struct Requests {
    std::vector<MPI_Request> out, in;
    void add(const PartitionedPingPong& of, int at, int count) {
      const MPI_Comm comm = of.t_.comm();
      MPI_Send_init(of.out_ + at, count, MPI_BYTE, of.peer_, 1, comm, &out.emplace_back());
      MPI_Recv_init(of.in_ + at, count, MPI_BYTE, of.peer_, 1, comm, &in.emplace_back());
    }
    void free() {
      for (auto* requests : {&out, &in})
        for (MPI_Request& request : *requests) MPI_Request_free(&request);
    }
  };

  template <class Send, class Receive>
  void round_trip(Send out, Receive in) {
    if (t_.rank() == 0) {
      out(), in();
    } else {
      in(), out();
    }
  }

  void send() {
    MPI_Start(&partitioned_[sending]);
    for (int i = 0; i < partitions_; ++i) calls_.ready(i, partitioned_[sending]);
    MPI_Wait(&partitioned_[sending], MPI_STATUS_IGNORE);
  }
  void receive() {
    MPI_Start(&partitioned_[receiving]);
    MPI_Wait(&partitioned_[receiving], MPI_STATUS_IGNORE);
  }
  static void run(std::vector<MPI_Request>& requests) {
    MPI_Startall(static_cast<int>(requests.size()), requests.data());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

  Trial& t_;
  Partitioned calls_;
  int peer_, partitions_;
  double form_s_;
  Messages m_;
  std::byte *out_, *in_;
  MPI_Request partitioned_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  Requests whole_, parts_;
};

}  // namespace

static void partitioned_pingpong(Trial& t) {
  t.refuse_rotation("a persistent request");
  PartitionedPingPong study(t);
  t.study(std::ref(study));
}

BENCHMARK(partitioned_pingpong,
          .summary = "ping-pong of messages whose partitions become ready one by one, beside whole messages",
          .source = "OSU micro-benchmarks 7.5, osu_partitioned_latency; the comparison is Kiviat's",
          .aka = {"osu_partitioned_latency"},
          .sampling = Sampling::study,
          .ranks = exactly(2),
          .sizes = "1024,65536,1048576",
          .reports = {{"time", "s", "lower", "half of a round trip of one message in partitions"},
                      {"time_whole", "s", "lower", "half of a round trip of one persistent message"},
                      {"time_parts", "s", "lower", "half of a round trip of a persistent message for each partition"},
                      {"bandwidth", "B/s", "higher", "message size over time"}},
          .nominal_s = 0.3,
          .axes = {{"partitions", "8", "partitions", "equal partitions of a message, each made ready by itself", Bounds{1, 10'000}}, form_axis()},
          .section = "pt2pt",
          .tabled = false);
