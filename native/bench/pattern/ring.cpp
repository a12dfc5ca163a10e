// Natural and random rings of HPC Challenge: every rank exchanges messages with both neighbours at once.
#include <cmath>

#include "bench/pattern/exchange.hpp"
#include "platform/clock.hpp"

using namespace kiviat;

namespace {

constexpr std::array ring_methods = {Method::sendrecv, Method::nonblocking};

class RingStudy {
 public:
  explicit RingStudy(Trial& t)
      : t_(t),
        long_bytes_(t.integer("long")),
        as_hpcc_(t.text("rule") == "hpcc"),
        exchange_(t, long_bytes_, Exchange::Calls::repeat) {}

  void operator()() {
    const int latency_rings = t_.count_of("latency_rings"), bandwidth_rings = t_.count_of("bandwidth_rings");
    const std::vector<int> natural = natural_order(t_.ranks());
    const double natural_latency_s = seconds(natural, short_bytes), natural_long_s = seconds(natural, long_bytes_);
    t_.report("natural_latency", natural_latency_s);
    t_.report("natural_bandwidth", static_cast<double>(long_bytes_) / natural_long_s);

    const int all = latency_rings + bandwidth_rings;
    double log_latency = 0, log_bandwidth = 0;
    for (int ring = 0; ring < all; ++ring) {
      const std::vector<int> order = random_order(t_.ranks(), t_.seed() + static_cast<std::uint64_t>(ring));
      if (ring < latency_rings)
        log_latency += std::log(seconds(order, short_bytes)) / latency_rings;
      else
        log_bandwidth += std::log(static_cast<double>(long_bytes_) / seconds(order, long_bytes_)) / bandwidth_rings;
      t_.progressed(static_cast<double>(ring + 1) / all);
    }
    t_.report("random_latency", std::exp(log_latency));
    t_.report("random_bandwidth", std::exp(log_bandwidth));
  }

 private:
  static constexpr std::int64_t short_bytes = 8;
  static constexpr int repetitions = 3;
  static constexpr double loop_s = 5e-3;

  // Returns the seconds of one of the messages that each rank sends, at least two with rule=hpcc.
  double seconds(const std::vector<int>& order, std::int64_t bytes) {
    const OnlyNeighbour gets = as_hpcc_ ? OnlyNeighbour::both_messages : OnlyNeighbour::one_message;
    const Pattern pattern = ring_pattern("ring", order, {t_.ranks()}, t_.rank(), gets);
    exchange_.set(pattern, bytes);
    std::array<std::int64_t, ring_methods.size()> calls;
    for (std::size_t m = 0; m < ring_methods.size(); ++m) {
      exchange_.verify(ring_methods[m]);
      calls[m] = t_.calls_lasting(loop_s, 10'000, [&](std::int64_t) { exchange_(ring_methods[m]); });
    }
    double least_s = INFINITY;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      double mine_s = INFINITY;
      for (std::size_t m = 0; m < ring_methods.size(); ++m) {
        const Times call = timed(ring_methods[m], calls[m]);
        mine_s = std::min(mine_s, call.mine_s);
        if (!as_hpcc_) least_s = std::min(least_s, call.slowest_s);
      }
      if (as_hpcc_) least_s = std::min(least_s, t_.worst(mine_s));
    }
    return least_s / static_cast<double>(pattern.mine.size());
  }

  // Seconds of a call on this rank and on the slowest.
  struct Times {
    double mine_s, slowest_s;
  };

  Times timed(Method method, std::int64_t calls) {
    double start_s = 0, mine_s = 0;
    const double slowest_s = t_.seconds_of(calls, [&](std::int64_t call) {
      if (call == 0) start_s = clock::now();
      exchange_(method);
      if (call == calls - 1) mine_s = clock::now() - start_s;
    });
    return {mine_s / static_cast<double>(calls), slowest_s / static_cast<double>(calls)};
  }

  Trial& t_;
  std::int64_t long_bytes_;
  bool as_hpcc_;  // every rank's better method, then the slowest rank; else the method that is better on the slowest
  Exchange exchange_;
};

}  // namespace

static void ring(Trial& t) {
  RingStudy study(t);
  t.study(std::ref(study));
}

BENCHMARK(ring,
          .summary = "latency and bandwidth per process in a ring in rank order and in random rings",
          .source = "HPC Challenge, natural and random ring; Luszczek et al., Introduction to the HPC Challenge Benchmark Suite, 2005",
          .sampling = Sampling::study,
          .sized = false,
          .reports = {{"random_bandwidth", "B/s", "higher", "per process, geometric mean over rings"},
                      {"random_latency", "s", "lower", "8 bytes, geometric mean over rings"},
                      {"natural_bandwidth", "B/s", "higher", "per process, ring in rank order"},
                      {"natural_latency", "s", "lower", "8 bytes, ring in rank order"}},
          .nominal_s = 2,
          .axes = {{"latency_rings", "30", "rings", "random rings for the latency", Bounds{1, 10'000}},
                   {"bandwidth_rings", "10", "rings", "random rings for the bandwidth", Bounds{1, 10'000}},
                   {"long", "2000000", "B", "message size for the bandwidth", Bounds{8, 100'000'000}},
                   {"rule", "hpcc", "", "hpcc: each rank's better method, then the slowest rank, and two messages to the one neighbour on two ranks; common: the method that is better for the slowest rank, and one message", {"hpcc", "common"}}},
          .section = "effective",
          .place = 2,
          .headlines = {{.title = "Random rings, per process", .metric = "random_bandwidth", .place = 11},
                        {.title = "Random rings, 8 B", .metric = "random_latency", .place = 12}},
          .per_rank = true);
