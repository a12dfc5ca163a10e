// Ping-pong of many pairs, one after the other, as in HPC Challenge; shows the spread between the best and the worst
// pair.
#include <numeric>

#include "bench/hpcc/strided_pairs.hpp"
#include "bench/memory.hpp"
#include "bench/pattern/round_trips.hpp"

using namespace kiviat;

namespace {

// HPC Challenge, too, omits pairs if all of them would take too long.
constexpr std::int64_t most_pairs = 256, most_simulated_pairs = 32;

std::int64_t number_of_pairs(const Trial& t) {
  return integer_or(t, "pairs", t.deterministic() ? most_simulated_pairs : most_pairs);
}

class Study {
 public:
  explicit Study(Trial& t)
      : t_(t),
        budget_s_(seconds_of_axis(t, "pair_ms") / 2),
        long_bytes_(t.integer("long")),
        pairs_(strided_pairs(t.ranks(), number_of_pairs(t), t.seed())),
        round_trips_(t, long_bytes_),
        latency_s_(pairs_.size(), 0),
        long_s_(pairs_.size(), 0) {}

  void operator()() {
    verify();
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      latency_s_[i] = half_s(pairs_[i], short_bytes);
      long_s_[i] = half_s(pairs_[i], long_bytes_);
      t_.progressed(static_cast<double>(i + 1) / static_cast<double>(pairs_.size()));
    }
    verify();
    t_.note("pairs", std::to_string(pairs_.size()) + " of " + std::to_string(pairs_of(t_.ranks())));
    const std::vector<double> latency_s = of_all_pairs(latency_s_);
    std::vector<double> bandwidth = of_all_pairs(long_s_);
    for (double& value : bandwidth) value = static_cast<double>(long_bytes_) / value;
    tell("latency", latency_s);
    tell("bandwidth", bandwidth);
  }

 private:
  void verify() {
    for (const Pair& pair : pairs_)
      for (const std::int64_t bytes : {short_bytes, long_bytes_}) round_trips_.verify_once(peer(pair), bytes);
  }

  int peer(const Pair& pair) const {
    return t_.rank() == pair.one ? pair.other : t_.rank() == pair.other ? pair.one : MPI_PROC_NULL;
  }

  // Half of the round-trip time in seconds on the lower rank of the pair; 0 on all others.
  double half_s(const Pair& pair, std::int64_t bytes) {
    const int other = peer(pair);
    const double seconds = round_trips_.half_s(other, bytes, budget_s_, RoundTrips::Of::least);
    t_.together(other == MPI_PROC_NULL);
    return std::isnan(seconds) ? 0 : seconds;
  }

  std::vector<double> of_all_pairs(const std::vector<double>& mine) {
    std::vector<double> all(mine.size());
    MPI_Reduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_SUM, 0, t_.comm());
    return all;
  }

  void tell(const std::string& quantity, const std::vector<double>& values) {
    t_.report(quantity + "_mean",
              std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()));
    t_.report(quantity + "_min", std::ranges::min(values));
    t_.report(quantity + "_max", std::ranges::max(values));
  }

  Trial& t_;
  double budget_s_;
  std::int64_t long_bytes_;
  std::vector<Pair> pairs_;
  RoundTrips round_trips_;
  std::vector<double> latency_s_, long_s_;  // one value per pair
};

}  // namespace

static void pair_pingpong(Trial& t) {
  Study study(t);
  t.study(std::ref(study));
}

BENCHMARK(pair_pingpong,
          .summary = "ping-pong of many pairs of ranks, one after the other: mean, best and worst",
          .source = "HPC Challenge, ping-pong; "
                    "Luszczek et al., Introduction to the HPC Challenge Benchmark Suite, 2005; the selection of pairs is Kiviat's",
          .sampling = Sampling::study,
          .sized = false,
          .reports = {{"latency_mean", "s", "lower", "8 bytes, half of the round trip, least of each pair, over pairs"},
                      {"latency_min", "s", "lower"},
                      {"latency_max", "s", "lower"},
                      {"bandwidth_mean", "B/s", "higher", "best of each pair, over pairs"},
                      {"bandwidth_min", "B/s", "higher"},
                      {"bandwidth_max", "B/s", "higher"}},
          .nominal_s = 1,
          .axes = {{"pairs", "auto", "pairs", "number of pairs, spread evenly; auto: all pairs, at most 256, on simulated machines 32", {"auto", Bounds{1, 1'000'000}}},
                   {"pair_ms", "4", "ms", "time for each pair", milliseconds_bounds},
                   long_axis("2000000")});
