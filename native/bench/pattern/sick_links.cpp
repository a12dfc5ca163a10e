// Sick links: which ranks and links are slow, found in few rounds in which all ranks play ping-pong in disjoint pairs.
// With one rank on each node, slow ranks are slow nodes. A link that stands out is measured again, directly, and its
// two ranks with healthy partners beside it.
#include <functional>
#include <set>

#include "bench/pattern/round_trips.hpp"
#include "bench/pattern/sickness.hpp"
#include "core/barrier.hpp"

using namespace kiviat;

namespace {

constexpr const char* measures[] = {"latency", "bandwidth"};

// A link to look at again, and healthy partners of its ranks.
struct Suspect {
  int measure, low, high, low_control, high_control;
};

struct NamedLink {
  int measure, low, high;
  Sickness sickness;
};

class Study {
 public:
  explicit Study(Trial& t)
      : t_(t), budget_s_(seconds_of_axis(t, "pair_ms") / 2), bytes_{short_bytes, long_bytes(t)},
        rounds_(sick_rounds(t.ranks(), t.text("rounds"))), schedule_(t.ranks(), t.seed()), round_trips_(t, bytes_[1]) {
    rules_.least_factor = 1 + static_cast<double>(bounded(t, "slower_by", 1, 1000)) / 100;
  }

  void operator()() {
    find_nodes();
    std::vector<double> mine;  // by round and measure
    for (int round = 0; round < rounds_; ++round) {
      const int partner = schedule_.partner(round, t_.rank());
      for (const std::int64_t bytes : bytes_) round_trips_.verify(partner, bytes);
      for (const std::int64_t bytes : bytes_) {
        mine.push_back(round_trips_.half_s(partner, bytes, budget_s_));
        t_.together(partner == MPI_PROC_NULL);
      }
      t_.progressed(static_cast<double>(round + 1) / (rounds_ + 1));
    }
    const std::vector<Suspect> suspects = diagnose(mine);
    const std::vector<NamedLink> links = look_again(suspects);
    if (t_.rank() == 0) tell(links);
  }

 private:
  bool far(int a, int b) const { return nodes_[a] != nodes_[b]; }

  void find_nodes() {
    const std::uint64_t mine = std::hash<std::string>()(t_.session().node());
    nodes_.resize(t_.ranks());
    MPI_Allgather(&mine, 1, MPI_UINT64_T, nodes_.data(), 1, MPI_UINT64_T, t_.comm());
  }

  // On rank 0, who is sick; on all, what to look at again.
  std::vector<Suspect> diagnose(const std::vector<double>& mine) {
    const int per_rank = static_cast<int>(mine.size());
    std::vector<double> all(t_.rank() == 0 ? mine.size() * t_.ranks() : 0);
    MPI_Gather(mine.data(), per_rank, MPI_DOUBLE, all.data(), per_rank, MPI_DOUBLE, 0, t_.comm());
    std::vector<Suspect> suspects;
    for (int measure = 0; t_.rank() == 0 && measure < 2; ++measure) {
      std::vector<PairTime> times;
      for (int rank = 0; rank < t_.ranks(); ++rank)
        for (int round = 0; round < rounds_; ++round)
          if (const int partner = schedule_.partner(round, rank); partner > rank)
            times.push_back({round, rank, partner, far(rank, partner), all[rank * mine.size() + 2 * round + measure]});
      typical_s_[measure] = typical(times);
      diagnoses_.emplace_back(t_.ranks(), std::move(times), rules_);
      for (const auto& [low, high, is_far] : diagnoses_.back().suspects()) {
        const auto beside = [&](int a, int b) { return far(a, b); };
        const auto first = diagnoses_.back().control(low, high, -1, is_far, beside);
        const auto second = diagnoses_.back().control(high, low, first.value_or(-1), is_far, beside);
        // Without anything to compare it with, a link is not called slow.
        if (first && second) suspects.push_back({measure, low, high, *first, *second});
      }
    }
    int count = static_cast<int>(5 * suspects.size());
    MPI_Bcast(&count, 1, MPI_INT, 0, t_.comm());
    suspects.resize(count / 5);
    MPI_Bcast(suspects.data(), count, MPI_INT, 0, t_.comm());
    return suspects;
  }

  double typical(const std::vector<PairTime>& times) const {
    std::vector<double> seconds;
    for (const PairTime& time : times) seconds.push_back(time.seconds);
    return median(std::move(seconds));
  }

  // The links that are slow indeed, on rank 0.
  std::vector<NamedLink> look_again(const std::vector<Suspect>& suspects) {
    const std::size_t looks = static_cast<std::size_t>(rules_.repetitions);
    std::vector<double> mine(3 * looks * suspects.size()), all(mine.size());
    for (std::size_t i = 0; i < mine.size(); i += 3) {
      const Suspect& suspect = suspects[i / 3 / looks];
      const std::int64_t bytes = bytes_[suspect.measure];
      play(suspect.low, suspect.high, -1, -1, bytes, &mine[i]);
      play(suspect.low, suspect.low_control, suspect.high, suspect.high_control, bytes, &mine[i + 1]);
    }
    MPI_Reduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_SUM, 0, t_.comm());
    std::vector<NamedLink> links;
    for (std::size_t s = 0; t_.rank() == 0 && s < suspects.size(); ++s) {
      std::vector<LinkTimes> times;
      for (std::size_t look = 0; look < looks; ++look) {
        const double* at = &all[3 * (s * looks + look)];
        times.push_back({at[0], at[1], at[2]});
      }
      const Sickness sickness = judge_link(times, suspects.size(), rules_);
      if (sickness.slow) links.push_back({suspects[s].measure, suspects[s].low, suspects[s].high, sickness});
    }
    return links;
  }

  // Pairs a-b and c-d at once, the others asleep; each pair's time goes to `seconds[0]` and [1] of one of its ranks.
  void play(int a, int b, int c, int d, std::int64_t bytes, double* seconds) {
    const int me = t_.rank();
    const int partner = me == a ? b : me == b ? a : me == c ? d : me == d ? c : MPI_PROC_NULL;
    const double half_s = round_trips_.half_s(partner, bytes, budget_s_);
    if (!std::isnan(half_s)) seconds[me == c || me == d] = half_s;
    wait_for_all(t_.comm(), partner == MPI_PROC_NULL);
  }

  void tell(const std::vector<NamedLink>& links) {
    std::vector<std::string> names;
    for (int rank = 0; rank < t_.ranks(); ++rank) names.push_back(std::to_string(rank));
    const Table::Axis by_measure{"of", {std::begin(measures), std::end(measures)}};
    Table& factors = t_.table("rank_factor", "1", "lower", {{"rank", names}, by_measure});
    Table& confidences = t_.table("rank_confidence", "1", "lower", {{"rank", names}, by_measure});
    double worst = 1;
    std::set<std::size_t> slow;
    for (std::size_t measure = 0; measure < 2; ++measure)
      for (std::size_t rank = 0; rank < names.size(); ++rank) {
        const Sickness& sickness = diagnoses_[measure].ranks()[rank];
        factors.at({rank, measure}) = sickness.factor;
        confidences.at({rank, measure}) = sickness.confidence;
        if (sickness.slow) slow.insert(rank), worst = std::max(worst, sickness.factor);
      }
    std::vector<std::string> slow_names, link_names;
    for (const std::size_t rank : slow) slow_names.push_back(names[rank]);
    Table& named = t_.table("slow_ranks", "1", "lower", {{"rank", slow_names}, by_measure});
    std::size_t row = 0;
    for (const std::size_t rank : slow) {
      for (std::size_t measure = 0; measure < 2; ++measure)
        if (diagnoses_[measure].ranks()[rank].slow) named.at({row, measure}) = factors.at({rank, measure});
      ++row;
    }
    for (const NamedLink& link : links)
      link_names.push_back(names[link.low] + "-" + names[link.high] + " " + measures[link.measure]);
    Table& slow_links = t_.table("slow_links", "1", "lower", {{"link", link_names}, {"quantity", {"factor", "confidence"}}});
    for (std::size_t i = 0; i < links.size(); ++i) {
      slow_links.at({i, 0}) = links[i].sickness.factor;
      slow_links.at({i, 1}) = links[i].sickness.confidence;
      worst = std::max(worst, links[i].sickness.factor);
    }
    t_.report("worst_factor", worst);
    t_.report("slow_ranks", static_cast<double>(slow.size()));
    t_.report("slow_links", static_cast<double>(links.size()));
    t_.report("pairs_measured", 100.0 * std::min(1.0, static_cast<double>(rounds_) / circle_rounds(t_.ranks())));
    t_.report("latency", typical_s_[0]);
    t_.report("bandwidth", static_cast<double>(bytes_[1]) / typical_s_[1]);
  }

  Trial& t_;
  double budget_s_;
  std::int64_t bytes_[2];
  int rounds_;
  SickSchedule schedule_;
  RoundTrips round_trips_;
  SickRules rules_;
  std::vector<std::uint64_t> nodes_;
  std::vector<Diagnosis> diagnoses_;  // on rank 0, by measure
  double typical_s_[2] = {};
};

}  // namespace

static void sick_links(Trial& t) {
  Study study(t);
  t.study(std::ref(study));
}

BENCHMARK(sick_links,
          .summary = "slow ranks and links, named with a confidence after few rounds of disjoint pairs",
          .source = "sick-link detection in rounds of disjoint pairs; the schedule and the statistics are ours",
          .sampling = Sampling::study,
          .ranks = at_least(4),
          .sized = false,
          .reports = {{"worst_factor", "1", "lower", "how much slower the slowest rank or link named is; 1 if none is"},
                      {"slow_ranks", "1", "lower", "ranks named: nodes, with one rank on each"},
                      {"slow_links", "1", "lower", "links named, of those measured"},
                      {"pairs_measured", "%", "higher", "of all pairs of ranks"},
                      {"latency", "s", "lower", "8 bytes, the median pair"},
                      {"bandwidth", "B/s", "higher", "the median pair"}},
          .nominal_s = 2,
          .axes = {{"rounds", "log", "", "log: 8 + 4 log2 P rounds; sqrt: 2 sqrt P if that is more; all: every pair",
                    {"log", "sqrt", "all"}},
                   {"slower_by", "20", "%", "less than this is no sickness"},
                   {"pair_ms", "10", "ms", "time for each pair"},
                   long_axis("262144")});
