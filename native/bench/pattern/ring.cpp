// Natural and random rings of HPC Challenge: every rank exchanges messages with both neighbours at once.
#include <cmath>

#include "bench/pattern/exchange.hpp"
#include "support/failure.hpp"

using namespace kiviat;

namespace {

constexpr std::array ring_methods = {Method::sendrecv, Method::nonblocking};

class RingStudy {
 public:
  explicit RingStudy(Trial& t) : t_(t), long_bytes_(t.integer("long")), exchange_(t, long_bytes_) {}

  void operator()() {
    const int latency_rings = number_of("latency_rings"), bandwidth_rings = number_of("bandwidth_rings");
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

  int number_of(const char* axis) {
    const std::int64_t rings = t_.integer(axis);
    if (rings < 1 || rings > 10'000)
      throw UsageError(std::string(axis) + "=" + std::to_string(rings) + ": give 1 to 10000");
    return static_cast<int>(rings);
  }

  // Returns the seconds of one of the two messages that each rank sends: the minimum over methods and repetitions.
  double seconds(const std::vector<int>& order, std::int64_t bytes) {
    const Pattern pattern = ring_pattern("ring", order, {t_.ranks()}, t_.rank());
    exchange_.set(pattern, bytes);
    double least = INFINITY;
    for (const Method method : ring_methods) {
      exchange_.verify(method);
      const auto once = [&](std::int64_t) { exchange_(method); };
      const std::int64_t calls = t_.calls_lasting(loop_s, 10'000, once);
      for (int repetition = 0; repetition < repetitions; ++repetition)
        least = std::min(least, t_.seconds_of(calls, once) / static_cast<double>(calls));
    }
    // In a ring of two both neighbours are the same rank, and each sends one message only.
    return least / static_cast<double>(pattern.mine.size());
  }

  Trial& t_;
  std::int64_t long_bytes_;
  Exchange exchange_;
};

}  // namespace

static void ring(Trial& t) {
  if (const std::int64_t bytes = t.integer("long"); bytes < 8 || bytes > 100'000'000)
    throw UsageError("long=" + std::to_string(bytes) + ": give 8 to 100000000 bytes");
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
          .axes = {{"latency_rings", "30", "rings", "random rings for the latency"},
                   {"bandwidth_rings", "10", "rings", "random rings for the bandwidth"},
                   {"long", "2000000", "B", "message size for the bandwidth"}},
          .section = "effective",
          .place = 2,
          .headlines = {{.title = "Random rings, per process", .metric = "random_bandwidth", .place = 11},
                        {.title = "Random rings, 8 B", .metric = "random_latency", .place = 12}},
          .per_rank = true);
