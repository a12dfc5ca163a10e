// Congestion: effect of other ranks' traffic on latency, bandwidth and allreduce, after GPCNeT: S. Chunduri et al.,
// "GPCNeT: Designing a Benchmark Suite for Inducing and Measuring Contention in HPC Networks", SC19.
#include <functional>
#include <memory>

#include "bench/pattern/congestors.hpp"
#include "bench/pattern/nodes.hpp"
#include "bench/pattern/roles.hpp"
#include "bench/pattern/victims.hpp"

using namespace kiviat;

namespace {

std::vector<bool> victims_among(const Trial& t) {
  const std::vector<int> nodes = nodes_of(t.comm());
  const int number = std::ranges::max(nodes) + 1;
  const std::string split = t.text("split");
  const bool by_node = split == "nodes" || (split == "auto" && number >= 2 * least_of_role);
  const double share = static_cast<double>(t.integer("victims")) / 100;
  auto victims = victims_of(nodes, by_node, share, t.seed());
  // Groups may have different numbers of nodes; all skip the case if one has too few.
  if (t.worst(victims ? 0 : 1) > 0)
    throw Skip("split=nodes needs at least 4 nodes; " +
               (victims ? "another group has fewer" : "these ranks run on " + std::to_string(number)));
  return *std::move(victims);
}

class CongestionStudy {
 public:
  explicit CongestionStudy(Trial& t)
      : t_(t),
        phase_s_(seconds_of_axis(t, "phase_ms") / (t.deterministic() ? 100 : 1)),
        repetitions_(t.deterministic() ? 1 : t.integer("repetitions")),
        is_victim_(victims_among(t)),
        mine_(is_victim_[static_cast<std::size_t>(t.rank())]) {
    for (int rank = 0; rank < t.ranks(); ++rank) members_[is_victim_[static_cast<std::size_t>(rank)]].push_back(rank);
    const std::int64_t bytes = t.integer("long"), load = t.integer("load");
    const int congestors = static_cast<int>(members_[false].size());
    if (mine_)
      victims_ = std::make_unique<Victims>(t, bytes);
    else
      congestors_ = std::make_unique<Congestors>(t, load, congestors);
    const int load_bytes = Congestors::bytes_of(load, congestors);
    t.number("load_bytes", load_bytes);
    if (load_bytes < load)
      t.note("load", "messages of " + std::to_string(load_bytes) + " B, not " + std::to_string(load) +
                         ": the messages of " + std::to_string(congestors) +
                         " congestors must fit into 8 MiB together");
    bytes_of_call_ = static_cast<double>(Victims::window) * static_cast<double>(bytes);
    const std::string asked = t.text("congestors");
    for (std::size_t i = 0; i < loads.size(); ++i)
      if (asked == load_names[i] || asked == "all" || (asked == "two_sided" && i < 3)) used_.push_back(i);
    MPI_Comm_split(t.comm(), mine_, t.rank(), &role_);
  }
  ~CongestionStudy() {
    congestors_.reset();  // before its communicator, because its window uses that
    MPI_Comm_free(&role_);
  }
  CongestionStudy(const CongestionStudy&) = delete;
  CongestionStudy& operator=(const CongestionStudy&) = delete;

  void operator()() {
    if (mine_)
      victims_->meet(role_, members_[true]);
    else
      congestors_->meet(role_, members_[false]);
    expose();
    verify();
    impacts_.resize(suffered.size() * used_.size() * 2);
    for (std::int64_t i = 0; i < repetitions_; ++i) repetition();
    verify();
    t_.check_by([this] { return !mine_ || victims_->good(); });
    t_.verify([](std::int64_t) {});
    tabulate();
  }

 private:
  // Creates windows for one-sided patterns. If that fails, continues with the other patterns; skips the case if there
  // are none.
  void expose() {
    const auto needs_window = [](std::size_t load) { return one_sided(loads[load]); };
    if (std::ranges::none_of(used_, needs_window)) return;
    const std::string trouble = mine_ ? "" : congestors_->expose();
    if (t_.worst(!trouble.empty()) == 0) return;
    std::erase_if(used_, needs_window);
    if (used_.empty())
      throw Skip("MPI cannot create a window on these ranks" + (trouble.empty() ? "" : ": " + trouble));
  }

  void verify() {
    verify(Load::alltoall);  // first, because every congestor receives in it
    for (const std::size_t load : used_)
      if (loads[load] != Load::alltoall) verify(loads[load]);
  }

  void verify(Load load) {
    t_.forget_payload();
    if (!mine_) congestors_->expect(load);
    t_.verify([&](std::int64_t) {
      if (!mine_) congestors_->checked(load);
    });
  }

  // Measures each victim pattern alone, then with each congestor pattern.
  void repetition() {
    double worst = 0;
    for (std::size_t v = 0; v < suffered.size(); ++v) {
      const std::string name = suffered_names[v];
      const auto shown = [&](double seconds) {
        return suffered[v] == Suffered::bandwidth ? bytes_of_call_ / seconds : seconds;
      };
      const auto tell = [&](const std::string& of, const CallTimes& times) {
        t_.report(of, shown(times.median_s));
        t_.report(of + "_p99", shown(times.p99_s));
      };
      const CallTimes alone = phase(suffered[v], nullptr);
      tell(name + "_alone", alone);
      for (std::size_t i = 0; i < used_.size(); ++i) {
        const CallTimes under = phase(suffered[v], &loads[used_[i]]);
        const std::string both = name + '_' + load_names[used_[i]];
        const double impact = under.mean_s / alone.mean_s, impact_p99 = under.p99_s / alone.p99_s;
        tell(both, under);
        t_.report(both + "_impact", impact);
        t_.report(both + "_impact_p99", impact_p99);
        impacts_[2 * (v * used_.size() + i)].push_back(impact);
        impacts_[2 * (v * used_.size() + i) + 1].push_back(impact_p99);
        worst = std::max(worst, impact);
      }
    }
    t_.report("impact", worst);
  }

  // Executes a victim pattern under a load, or alone if `load` is null (congestors then sleep). The result is complete
  // on rank 0 only. Collective.
  CallTimes phase(Suffered what, const Load* load) {
    Reservoir times(0);
    t_.together();
    if (mine_) {
      times = victims_->times(what, phase_s_, most_samples());
      if (load && t_.rank() == members_[true].front()) Congestors::stop(t_, members_[false].front());
    } else if (load) {
      congestors_->go_on(*load, members_[true].front());
    }
    t_.together(!mine_ && !load);
    t_.progressed(static_cast<double>(++phases_) /
                  static_cast<double>(repetitions_ * static_cast<std::int64_t>(suffered.size() * (1 + used_.size()))));
    return pooled(times);
  }

  // Combines the calls of all victims on rank 0.
  CallTimes pooled(const Reservoir& times) const {
    const double mine[] = {times.mean() * static_cast<double>(times.count()), static_cast<double>(times.count())};
    double sums[2] = {};
    MPI_Reduce(mine, sums, 2, MPI_DOUBLE, MPI_SUM, 0, t_.comm());
    const int kept = static_cast<int>(times.kept().size());
    const std::size_t ranks = t_.rank() == 0 ? static_cast<std::size_t>(t_.ranks()) : 0;
    std::vector<int> counts(ranks), places(ranks);
    MPI_Gather(&kept, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, t_.comm());
    int all = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) places[rank] = all, all += counts[rank];
    std::vector<double> seconds(static_cast<std::size_t>(all));
    MPI_Gatherv(times.kept().data(), kept, MPI_DOUBLE, seconds.data(), counts.data(), places.data(), MPI_DOUBLE, 0,
                t_.comm());
    if (seconds.empty()) return {};
    std::ranges::sort(seconds);
    return {sums[0] / sums[1], quantile(seconds, 0.5), quantile(seconds, 0.99)};
  }

  std::size_t most_samples() const { return std::clamp<std::size_t>(400'000 / members_[true].size(), 100, 20'000); }

  void tabulate() {
    std::vector<std::string> victims(suffered_names.begin(), suffered_names.end()), congestors, ranks;
    for (const std::size_t load : used_) congestors.push_back(load_names[load]);
    Table& impact =
        t_.table("impact", "1", "lower", {{"victim", victims}, {"congestor", congestors}, {"of", {"mean", "P99"}}});
    for (std::size_t cell = 0; cell < impacts_.size(); ++cell) impact.values[cell] = median(impacts_[cell]);
    for (int rank = 0; rank < t_.ranks(); ++rank) ranks.push_back(std::to_string(rank));
    Table& role = t_.table("victims", "1", "lower", {{"rank", ranks}});
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) role.at({rank}) = is_victim_[rank];
  }

  Trial& t_;
  double phase_s_;
  std::int64_t repetitions_;
  std::vector<bool> is_victim_;
  bool mine_;                    // whether this rank is a victim
  std::vector<int> members_[2];  // trial's ranks of the congestors [0] and the victims [1]
  std::unique_ptr<Victims> victims_;
  std::unique_ptr<Congestors> congestors_;
  double bytes_of_call_ = 0;
  std::vector<std::size_t> used_;  // positions of the selected loads
  MPI_Comm role_ = MPI_COMM_NULL;
  std::int64_t phases_ = 0;
  std::vector<std::vector<double>>
      impacts_;  // by victim, congestor, and statistic (mean or P99): one value per repetition
};

std::vector<Quantity> congestion_reports() {
  std::vector<Quantity> reports = {{"impact", "1", "lower", "largest ratio of mean times: with congestors / without"}};
  for (std::size_t v = 0; v < suffered.size(); ++v) {
    const bool rate = suffered[v] == Suffered::bandwidth;
    const std::string unit = rate ? "B/s" : "s", better = rate ? "higher" : "lower", victim = suffered_names[v];
    const auto both = [&](const std::string& name, const std::string& where) {
      reports.push_back({name, unit, better, "median " + where});
      reports.push_back({name + "_p99", unit, better, rate ? "exceeded by 99 % of the calls" : "99th percentile"});
    };
    both(victim + "_alone", "while the congestors sleep");
    for (const char* load : load_names) {
      const std::string name = victim + '_' + load;
      both(name, std::string("with congestors running ") + load);
      reports.push_back({name + "_impact", "1", "lower", "mean time of a call, relative to that without congestors"});
      reports.push_back(
          {name + "_impact_p99", "1", "lower", "99th percentile of the times, relative to that without congestors"});
    }
  }
  return reports;
}

}  // namespace

static void congestion(Trial& t) {
  t.refuse_rotation("the traffic of victims and congestors");
  CongestionStudy study(t);
  t.study(std::ref(study));
}

BENCHMARK(congestion,
          .summary = "latency, bandwidth and allreduce of some ranks while the others congest the network",
          .source = "GPCNeT: Chunduri et al., SC19; sizes, split and patterns are specified in docs/reference/benchmarks.md",
          .aka = {"GPCNeT"},
          .sampling = Sampling::study,
          .ranks = at_least(2 * least_of_role),
          .sized = false,
          .reports = congestion_reports(),
          .nominal_s = 8,
          .axes = {{"victims", "20", "%", "share of nodes or ranks that are victims, chosen by the seed; at least two have each role", Bounds{1, 99}},
                   {"split", "auto", "", "unit to which roles are assigned: nodes or ranks; auto: nodes if there are at least four", {"auto", "nodes", "ranks"}},
                   {"congestors", "all", "", "what congests: all patterns in turn, those without one-sided operations, or one",
                    {"all", "two_sided", "alltoall", "incast", "broadcast", "put_incast", "get_broadcast"}},
                   {"load", "65536", "B", "message size of the congestors", Bounds{1, 1'000'000'000}},
                   long_axis("131072"),
                   {"phase_ms", "100", "ms", "time for each victim pattern with each congestor pattern", milliseconds_bounds},
                   {"repetitions", "3", "", "repetitions of the whole procedure", Bounds{1, 1000}}},
          .section = "congestion",
          .place = 1,
          .tabled = false);
