// Detection of slow ranks and links in few rounds, in which all ranks play ping-pong in disjoint pairs. With one rank
// per node, slow ranks are slow nodes. Suspicious links are measured again, finally alone and together with healthy
// partners of both ranks.
#include <functional>
#include <set>

#include "bench/pattern/link_health.hpp"
#include "bench/pattern/nodes.hpp"
#include "bench/pattern/round_trips.hpp"

using namespace kiviat;

namespace {

constexpr const char* measures[] = {"latency", "bandwidth"};

// A link to be measured alone, and healthy partners of its ranks.
struct Suspect {
  int measure, low, high, low_control, high_control;
};

struct NamedLink {
  int measure, low, high;
  LinkHealth health;
};

class SickLinksStudy {
 public:
  explicit SickLinksStudy(Trial& t)
      : t_(t),
        group_(t.comm()),
        budget_s_(seconds_of_axis(t, "pair_ms") / 2),
        bytes_{short_bytes, t.integer("long")},
        rounds_(sick_rounds(t.ranks(), t.text("rounds"))),
        schedule_(t.ranks(), t.seed()),
        round_trips_(t, bytes_[1]) {
    rules_.least_factor = 1 + static_cast<double>(t.integer("slower_by")) / 100;
  }

  void operator()() {
    nodes_ = nodes_of(t_.comm());
    const auto scheduled = [&](int round, int rank) { return schedule_.partner(round, rank); };
    std::vector<double> mine[2];
    for (int round = 0; round < rounds_; ++round) {
      const int partner = scheduled(round, t_.rank());
      for (const std::int64_t bytes : bytes_) round_trips_.verify(partner, bytes);
      for (int measure = 0; measure < 2; ++measure) mine[measure].push_back(half_s(partner, measure));
      t_.progressed(static_cast<double>(round + 1) / (rounds_ + 1));
    }
    std::vector<Suspect> suspects;
    for (int measure = 0; measure < 2; ++measure) {
      const std::vector<PairTime> times = gathered(mine[measure], scheduled);
      if (t_.rank() == 0) {
        typical_s_[measure] = typical(times);
        diagnoses_.emplace_back(t_.ranks(), times, rules_);
      }
      compare_with_healthy(measure, screened(measure), suspects);
    }
    const std::vector<NamedLink> links = look_at(shared(suspects));
    if (t_.rank() == 0) tell(links);
  }

 private:
  bool far(int a, int b) const { return nodes_[a] != nodes_[b]; }

  // Returns half of the round-trip time in seconds, with all pairs communicating at once. Groups may need different
  // numbers of rounds, so each group synchronises its own ranks only.
  double half_s(int partner, int measure) {
    const double seconds = round_trips_.half_s(partner, bytes_[measure], budget_s_);
    group_.barrier(partner == MPI_PROC_NULL);
    return seconds;
  }

  // Gathers the times of all ranks, by round, on rank 0.
  template <class Partner>
  std::vector<PairTime> gathered(const std::vector<double>& mine, Partner partner) const {
    const int rounds = static_cast<int>(mine.size());
    std::vector<double> all(t_.rank() == 0 ? mine.size() * t_.ranks() : 0);
    MPI_Gather(mine.data(), rounds, MPI_DOUBLE, all.data(), rounds, MPI_DOUBLE, 0, t_.comm());
    std::vector<PairTime> times;
    for (int rank = 0; t_.rank() == 0 && rank < t_.ranks(); ++rank)
      for (int round = 0; round < rounds; ++round)
        if (const int other = partner(round, rank); other > rank)
          times.push_back({round, rank, other, far(rank, other), all[rank * mine.size() + round]});
    return times;
  }

  static double typical(const std::vector<PairTime>& times) {
    std::vector<double> seconds;
    for (const PairTime& time : times) seconds.push_back(time.seconds);
    return median(std::move(seconds));
  }

  // Broadcasts structures of integers from rank 0.
  template <class T>
  std::vector<T> shared(std::vector<T> items) const {
    constexpr std::size_t integers = sizeof(T) / sizeof(int);
    int count = static_cast<int>(integers * items.size());
    MPI_Bcast(&count, 1, MPI_INT, 0, t_.comm());
    items.resize(count / integers);
    MPI_Bcast(items.data(), count, MPI_INT, 0, t_.comm());
    return items;
  }

  // Returns the links that stood out in every measurement, slowest first.
  std::vector<Link> screened(int measure) {
    std::vector<Link> suspects = shared(t_.rank() == 0 ? diagnoses_[measure].suspects() : std::vector<Link>());
    for (int screen = 0; screen < rules_.screens; ++screen) {
      const auto rounds = screening_rounds(t_.ranks(), suspects, t_.seed() + static_cast<std::uint64_t>(screen));
      std::vector<double> mine;
      for (const auto& partners : rounds) mine.push_back(half_s(partners[t_.rank()], measure));
      const auto again = gathered(mine, [&](int round, int rank) { return rounds[round][rank]; });
      suspects = shared(t_.rank() == 0 ? diagnoses_[measure].still_suspect(suspects, again) : std::vector<Link>());
    }
    return suspects;
  }

  // Chooses healthy links to compare each suspected link with; without them a link is not called slow.
  void compare_with_healthy(int measure, const std::vector<Link>& links, std::vector<Suspect>& suspects) const {
    if (t_.rank() != 0) return;
    const Diagnosis& diagnosis = diagnoses_[measure];
    const auto is_far = [&](int a, int b) { return far(a, b); };
    const std::size_t most = std::min(links.size(), static_cast<std::size_t>(rules_.most_looked_at));
    for (std::size_t i = 0; i < most; ++i) {
      const auto [low, high, apart] = links[i];
      const auto first = diagnosis.control(low, high, -1, is_far);
      const auto second = diagnosis.control(high, low, first.value_or(-1), is_far);
      if (first && second) suspects.push_back({measure, low, high, *first, *second});
    }
  }

  // Measures suspected links alone; returns those confirmed as slow, on rank 0.
  std::vector<NamedLink> look_at(const std::vector<Suspect>& suspects) {
    const std::size_t looks = static_cast<std::size_t>(rules_.looks);
    std::vector<double> mine(3 * looks * suspects.size()), all(mine.size());
    for (std::size_t i = 0; i < mine.size(); i += 3) {
      const Suspect& suspect = suspects[i / 3 / looks];
      play(suspect.low, suspect.high, -1, -1, suspect.measure, &mine[i]);
      play(suspect.low, suspect.low_control, suspect.high, suspect.high_control, suspect.measure, &mine[i + 1]);
    }
    MPI_Reduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_SUM, 0, t_.comm());
    std::vector<NamedLink> links;
    for (std::size_t s = 0; t_.rank() == 0 && s < suspects.size(); ++s) {
      std::vector<LinkTimes> times;
      for (std::size_t look = 0; look < looks; ++look) {
        const double* at = &all[3 * (s * looks + look)];
        times.push_back({at[0], at[1], at[2]});
      }
      const LinkHealth health = judge_link(times, suspects.size(), rules_);
      if (health.slow) links.push_back({suspects[s].measure, suspects[s].low, suspects[s].high, health});
    }
    return links;
  }

  // Times pairs a-b and c-d at once, while the others sleep; stores their seconds in seconds[0] and seconds[1].
  void play(int a, int b, int c, int d, int measure, double* seconds) {
    const int me = t_.rank();
    const int partner = me == a ? b : me == b ? a : me == c ? d : me == d ? c : MPI_PROC_NULL;
    const double taken_s = half_s(partner, measure);
    if (!std::isnan(taken_s)) seconds[me == c || me == d] = taken_s;
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
        const LinkHealth& health = diagnoses_[measure].ranks()[rank];
        factors.at({rank, measure}) = health.factor;
        confidences.at({rank, measure}) = health.confidence;
        if (health.slow) slow.insert(rank), worst = std::max(worst, health.factor);
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
    Table& slow_links =
        t_.table("slow_links", "1", "lower", {{"link", link_names}, {"quantity", {"factor", "confidence"}}});
    for (std::size_t i = 0; i < links.size(); ++i) {
      slow_links.at({i, 0}) = links[i].health.factor;
      slow_links.at({i, 1}) = links[i].health.confidence;
      worst = std::max(worst, links[i].health.factor);
    }
    t_.report("slowdown_max", worst);
    t_.report("slow_ranks", static_cast<double>(slow.size()));
    t_.report("slow_links", static_cast<double>(links.size()));
    t_.report("pairs_measured", 100.0 * std::min(1.0, static_cast<double>(rounds_) / circle_rounds(t_.ranks())));
    t_.report("latency", typical_s_[0]);
    t_.report("bandwidth", static_cast<double>(bytes_[1]) / typical_s_[1]);
  }

  Trial& t_;
  RankGroup group_;
  double budget_s_;
  std::int64_t bytes_[2];
  int rounds_;
  SickSchedule schedule_;
  RoundTrips round_trips_;
  SickRules rules_;
  std::vector<int> nodes_;
  std::vector<Diagnosis> diagnoses_;  // of latency and of bandwidth, on rank 0
  double typical_s_[2] = {};
};

}  // namespace

static void sick_links(Trial& t) {
  SickLinksStudy study(t);
  t.study(std::ref(study));
}

BENCHMARK(sick_links,
          .summary = "detection of slow ranks and links, with a confidence, in few rounds of disjoint pairs",
          .source = "sick-link detection in rounds of disjoint pairs; schedule and statistics are Kiviat's",
          .sampling = Sampling::study,
          .ranks = at_least(4),
          .sized = false,
          .reports = {{"slowdown_max", "1", "lower", "slowdown of the slowest rank or link found; 1 if none was found"},
                      {"slow_ranks", "1", "lower", "number of slow ranks found; with one rank per node, slow nodes"},
                      {"slow_links", "1", "lower", "number of slow links found among those measured"},
                      {"pairs_measured", "%", "higher", "share of all pairs of ranks that were measured"},
                      {"latency", "s", "lower", "8 bytes, the median pair"},
                      {"bandwidth", "B/s", "higher", "the median pair"}},
          .nominal_s = 2,
          .axes = {{"rounds", "log", "", "log: 8 + 4 log2 P rounds; sqrt: 2 sqrt P if that is more; all: every pair",
                    {"log", "sqrt", "all"}},
                   {"slower_by", "20", "%", "ranks and links that are less than this slower count as healthy", Bounds{1, 1000}},
                   {"pair_ms", "10", "ms", "time for each pair", milliseconds_bounds},
                   long_axis("262144")},
          .section = "pairs",
          .place = 5);
