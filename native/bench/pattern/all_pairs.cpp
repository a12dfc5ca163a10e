// All pairs: ping-pong between any two ranks, one pair after the other, or in rounds of disjoint pairs.
#include "bench/pattern/pairings.hpp"
#include "bench/pattern/round_trips.hpp"

using namespace kiviat;

namespace {

constexpr int most_ranks = 1024;

class AllPairsStudy {
 public:
  explicit AllPairsStudy(Trial& t)
      : t_(t),
        concurrent_(t.text("concurrent") == "1"),
        budget_s_(seconds_of_axis(t, "pair_ms") / 2),
        long_bytes_(t.integer("long")),
        round_trips_(t, long_bytes_),
        latency_s_(t.ranks(), NAN),
        bandwidth_(t.ranks(), NAN) {}

  void operator()() {
    // Checks all pairs of a round at once, which is quick and opens all connections.
    const int rounds = circle_rounds(t_.ranks());
    for (int round = 0; round < rounds; ++round)
      for (const std::int64_t bytes : {short_bytes, long_bytes_}) round_trips_.verify(partner(round), bytes);
    for (int round = 0; round < rounds; ++round) {
      if (concurrent_)
        measure(partner(round));
      else
        one_by_one(round);
      t_.progressed(static_cast<double>(round + 1) / rounds);
    }
    tell("latency", "s", "lower", latency_s_);
    tell("bandwidth", "B/s", "higher", bandwidth_);
  }

 private:
  int partner(int round) const { return circle_partner(t_.ranks(), round, t_.rank()); }

  void one_by_one(int round) {
    for (int lower = 0; lower < t_.ranks(); ++lower) {
      const int higher = circle_partner(t_.ranks(), round, lower);
      if (higher < lower) continue;  // measured already, or no partner
      measure(t_.rank() == lower ? higher : t_.rank() == higher ? lower : MPI_PROC_NULL);
    }
  }

  void measure(int peer) {
    const double latency_s = round_trips_.half_s(peer, short_bytes, budget_s_);
    if (concurrent_) t_.together(peer == MPI_PROC_NULL);
    const double long_s = round_trips_.half_s(peer, long_bytes_, budget_s_);
    t_.together(peer == MPI_PROC_NULL);
    if (peer > t_.rank()) latency_s_[peer] = latency_s, bandwidth_[peer] = static_cast<double>(long_bytes_) / long_s;
  }

  // Fills a symmetric table: each rank contributes its row of the upper triangle.
  void tell(const char* quantity, const char* unit, const char* better, const std::vector<double>& row) {
    const std::size_t ranks = row.size();
    std::vector<std::string> names;
    for (std::size_t rank = 0; rank < ranks; ++rank) names.push_back(std::to_string(rank));
    // Only rank 0 has the table: those of many ranks would fill a node's memory.
    Table* whole = t_.rank() == 0 ? &t_.table(quantity, unit, better, {{"rank", names}, {"partner", names}}) : nullptr;
    MPI_Gather(row.data(), static_cast<int>(ranks), MPI_DOUBLE, whole ? whole->values.data() : nullptr,
               static_cast<int>(ranks), MPI_DOUBLE, 0, t_.comm());
    if (!whole) return;
    Table& table = *whole;
    std::vector<double> pairs;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      for (std::size_t other = rank + 1; other < ranks; ++other)
        pairs.push_back(table.at({other, rank}) = table.at({rank, other}));
    const auto [least, most] = std::ranges::minmax(pairs);
    const std::string name = quantity;
    t_.report(name + "_median", median(pairs));
    t_.report(name + "_min", least);
    t_.report(name + "_max", most);
  }

  Trial& t_;
  bool concurrent_;
  double budget_s_;
  std::int64_t long_bytes_;
  RoundTrips round_trips_;
  std::vector<double> latency_s_, bandwidth_;  // by rank of the partner
};

}  // namespace

static void all_pairs(Trial& t) {
  if (t.ranks() > most_ranks)
    throw Skip("a table of " + std::to_string(t.ranks()) + " by " + std::to_string(t.ranks()) +
               " ranks is too large: give ranks=" + std::to_string(most_ranks) + " or fewer, or take sick_links");
  AllPairsStudy study(t);
  t.study(std::ref(study));
}

BENCHMARK(all_pairs,
          .summary = "ping-pong between any two ranks: a matrix of latencies and of bandwidths",
          .source = "all-pairs latency and bandwidth matrix; time per pair and rounds (circle method) are Kiviat's",
          .sampling = Sampling::study,
          .sized = false,
          .reports = {{"latency_median", "s", "lower", "8 bytes, over all pairs"},
                      {"latency_max", "s", "lower"},
                      {"latency_min", "s", "lower"},
                      {"bandwidth_median", "B/s", "higher", "over all pairs"},
                      {"bandwidth_min", "B/s", "higher"},
                      {"bandwidth_max", "B/s", "higher"}},
          .nominal_s = 1,
          .axes = {{"concurrent", "0", "", "0: one pair after another, while the other ranks sleep; 1: rounds of disjoint pairs", {"0", "1"}},
                   {"pair_ms", "2", "ms", "time for each pair", milliseconds_bounds},
                   long_axis("262144")},
          .section = "pairs",
          .place = 2,
          .tabled = false);
