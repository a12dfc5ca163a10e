// Distance: ping-pong between rank 0 and rank d, over the distances d. All other ranks sleep.
#include "bench/pattern/round_trips.hpp"

using namespace kiviat;

namespace {

// Returns the distances 1, 2, 4 … and P/2; or all up to P - 1.
std::vector<int> distances_of(const Trial& t) {
  std::vector<int> distances;
  if (t.text("distances") == "all") {
    for (int d = 1; d < t.ranks(); ++d) distances.push_back(d);
    return distances;
  }
  const int half = t.ranks() / 2;
  for (int d = 1; d < half; d *= 2) distances.push_back(d);
  distances.push_back(half);
  return distances;
}

class DistanceStudy {
 public:
  explicit DistanceStudy(Trial& t)
      : t_(t),
        budget_s_(seconds_of_axis(t, "pair_ms") / rounds),
        long_bytes_(t.integer("long")),
        distances_(distances_of(t)),
        round_trips_(t, long_bytes_) {}

  void operator()() {
    for (const int distance : distances_)
      for (const std::int64_t bytes : {short_bytes, long_bytes_}) round_trips_.verify(peer(distance), bytes);
    // Distances alternate, so that drift of the machine does not look like an effect of distance.
    std::vector<std::vector<double>> latency_s(distances_.size()), bandwidth(distances_.size());
    for (int round = 0; round < (t_.deterministic() ? 1 : rounds); ++round) {
      for (std::size_t i = 0; i < distances_.size(); ++i) {
        latency_s[i].push_back(half_s(distances_[i], short_bytes));
        bandwidth[i].push_back(static_cast<double>(long_bytes_) / half_s(distances_[i], long_bytes_));
      }
      t_.report("nearest_latency", latency_s.front().back());
      t_.report("farthest_latency", latency_s.back().back());
      t_.report("nearest_bandwidth", bandwidth.front().back());
      t_.report("farthest_bandwidth", bandwidth.back().back());
      t_.progressed(static_cast<double>(round + 1) / rounds);
    }
    tell("latency", "s", "lower", latency_s);
    tell("bandwidth", "B/s", "higher", bandwidth);
  }

 private:
  static constexpr int rounds = 7;  // smallest number that gives an interval of the median

  int peer(int distance) const { return t_.rank() == 0 ? distance : t_.rank() == distance ? 0 : MPI_PROC_NULL; }

  double half_s(int distance, std::int64_t bytes) {
    const int other = peer(distance);
    const double seconds = round_trips_.half_s(other, bytes, budget_s_);
    t_.together(other == MPI_PROC_NULL);
    return seconds;
  }

  void tell(const char* name, const char* unit, const char* better, const std::vector<std::vector<double>>& values) {
    std::vector<std::string> names;
    for (const int distance : distances_) names.push_back(std::to_string(distance));
    Table& table = t_.table(name, unit, better, {{"distance", names}});
    for (std::size_t i = 0; i < values.size(); ++i) table.at({i}) = median(values[i]);
  }

  Trial& t_;
  double budget_s_;
  std::int64_t long_bytes_;
  std::vector<int> distances_;
  RoundTrips round_trips_;
};

}  // namespace

static void distance(Trial& t) {
  DistanceStudy study(t);
  t.study(std::ref(study));
}

BENCHMARK(distance,
          .summary = "ping-pong between rank 0 and increasingly distant ranks, while the others sleep",
          .source = "distance sweep over rank pairs 0 and d; measuring all distances in turn, seven times, is Kiviat's",
          .sampling = Sampling::study,
          .sized = false,
          .reports = {{"nearest_latency", "s", "lower", "8 bytes, between ranks 0 and 1"},
                      {"farthest_latency", "s", "lower", "8 bytes, between ranks 0 and the farthest"},
                      {"nearest_bandwidth", "B/s", "higher"},
                      {"farthest_bandwidth", "B/s", "higher"}},
          .nominal_s = 1,
          .axes = {{"distances", "doubling", "", "doubling: 1, 2, 4 … and P/2; all: 1 to P - 1", {"doubling", "all"}},
                   {"pair_ms", "50", "ms", "time for each distance and size", milliseconds_bounds},
                   long_axis("1048576")},
          .section = "pairs",
          .place = 1,
          .tabled = false);
