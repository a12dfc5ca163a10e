// b_eff, the effective bandwidth: the accumulated bandwidth of the network, averaged over message sizes
// and over rings and random patterns in which all ranks send at once.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "bench/pattern/b_eff_average.hpp"
#include "bench/pattern/exchange.hpp"
#include "platform/node.hpp"
#include "platform/work_share.hpp"
#include "support/failure.hpp"

using namespace kiviat;

namespace {

constexpr std::int64_t least_bytes = 4096, most_bytes = std::int64_t{128} << 20;

std::int64_t largest_of(const Trial& t) {
  if (const std::int64_t asked = t.integer("lmax"); asked != 0) return asked;
  // Uses the smallest memory share of all ranks, so that all ranks use the same sizes.
  const double share = -t.worst(-std::min<double>(most_bytes, t.session().memory_share_bytes / 128));
  if (share < least_bytes)
    throw UsageError("lmax=0: 1/128 of a rank's memory is less than " + std::to_string(least_bytes) + " B; give lmax");
  return static_cast<std::int64_t>(share);
}

// Kind of a pattern; rings and random patterns enter averages of their own.
enum class Kind { ring, random, extra };

class BEffStudy {
 public:
  explicit BEffStudy(Trial& t)
      : t_(t),
        extent_(t.text("version") == "full" ? b_eff_full : b_eff_quick),
        largest_(largest_of(t)),
        loop_s_(seconds_of_axis(t, "loop_ms")),
        exchange_(t, largest_, Exchange::Calls::rotate),
        sizes_(b_eff_sizes(largest_, extent_.every_size)) {
    host::sends_from_memory(true);  // which the definition demands, and Exchange does
    choose_patterns();
  }
  ~BEffStudy() {
    if (pair_ != MPI_COMM_NULL) MPI_Comm_free(&pair_);
  }
  BEffStudy(const BEffStudy&) = delete;
  BEffStudy& operator=(const BEffStudy&) = delete;

  void operator()() {
    std::vector<std::string> names, bytes;
    for (const auto& [pattern, kind] : patterns_) names.push_back(pattern.name);
    for (const std::int64_t size : sizes_) bytes.push_back(std::to_string(size));
    Table& table =
        t_.table("bandwidth", "B/s", "higher",
                 {{"pattern", names}, {"bytes", bytes}, {"method", {method_names.begin(), method_names.end()}}});
    const int repetitions = t_.deterministic() ? 1 : extent_.repetitions;
    WorkShare pieces(t_.members(), patterns_.size(), sizes_.size() * methods.size(),
                     [&](double share) { t_.progressed(share); });
    for (int repetition = 0; repetition < repetitions; ++repetition)
      for (std::size_t column = 0; column < sizes_.size(); ++column) {
        for (std::size_t m = 0; m < methods.size(); ++m) measure(pieces, column, m, repetition);
        const std::size_t done = static_cast<std::size_t>(repetition) * sizes_.size() + column + 1;
        if (pieces.leads())
          t_.progressed(static_cast<double>(done) /
                        static_cast<double>(sizes_.size() * static_cast<std::size_t>(repetitions)));
      }
    pieces.collect();
    std::vector<PatternBandwidth> rings, randoms, extras;
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      const std::span<double> best = pieces.values(i);
      const auto rate = [&](std::size_t column, std::size_t m, int) {
        return table.at({i, column, m}) = best[column * methods.size() + m];
      };
      const Kind kind = patterns_[i].second;
      auto& alike = kind == Kind::ring ? rings : kind == Kind::random ? randoms : extras;
      alike.push_back(pattern_bandwidth(sizes_.size(), methods.size(), 1, rate));
    }
    tell(b_eff_of(rings, randoms));
    const char* names_of_extras[] = {"worst_order", "grid_2d", "grid_3d"};
    for (std::size_t i = 0; i < extras.size(); ++i) t_.report(names_of_extras[i], extras[i].average);
    pingpong();
  }

 private:
  static constexpr std::int64_t most_loops = 1'000'000;

  void choose_patterns() {
    const int ranks = t_.ranks(), rank = t_.rank();
    const std::vector<int> natural = natural_order(ranks);
    for (const int target : ring_targets(ranks))
      patterns_.emplace_back(
          ring_pattern("rings of " + std::to_string(target), natural, ring_sizes(ranks, target), rank), Kind::ring);
    for (int i = 0; i < extent_.randoms; ++i)
      patterns_.emplace_back(
          ring_pattern("random " + std::to_string(i), random_order(ranks, t_.seed() + i), {ranks}, rank), Kind::random);
    patterns_.emplace_back(ring_pattern("worst order", worst_order(ranks), {ranks}, rank), Kind::extra);
    for (const int dimensions : {2, 3}) {
      const std::vector<int> dims = grid_dims(ranks, dimensions);
      std::vector<int> along(dimensions);
      std::iota(along.begin(), along.end(), 0);
      patterns_.emplace_back(grid_pattern(std::to_string(dimensions) + "-D grid", dims, along, rank), Kind::extra);
    }
  }

  // Measures all patterns at one size by one method, with the same number of calls. If slow patterns make a single
  // call, fast ones (such as rings within a node) do so, too, with cold caches as the definition prescribes; with more
  // calls they would appear twice as fast.
  void measure(WorkShare& pieces, std::size_t column, std::size_t m, int repetition) {
    const std::int64_t bytes = sizes_[column];
    const std::int64_t loops = loops_of(column, m, repetition);
    double all_s = 0;
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      if (!pieces.mine(i)) continue;
      const Pattern& pattern = patterns_[i].first;
      exchange_.set(pattern, bytes);
      // Verifies the payload by each method: of all patterns at the smallest and the largest size, of one at the
      // others.
      const bool checked = bytes == sizes_.front() || bytes == largest_ || i == column % patterns_.size();
      if (repetition == 0 && checked) exchange_.verify(methods[m]);
      // One untimed call first, as in the authors' program, except for the longest messages.
      if (!t_.deterministic() && 4 * bytes < largest_) exchange_(methods[m]);
      for (int calls = host::settling_calls(); calls > 0; --calls) exchange_(methods[m]);
      const double seconds = t_.seconds_of(loops, [&](std::int64_t) { exchange_(methods[m]); });
      const double rate = static_cast<double>(bytes) * static_cast<double>(pattern.total * loops) / seconds;
      double& most = pieces.values(i)[column * methods.size() + m];
      most = repetition == 0 ? rate : std::max(most, rate);
      all_s += seconds;
    }
    call_s_[m] = all_s / static_cast<double>(patterns_.size()) / static_cast<double>(loops);
  }

  // Number of calls that last loop_ms, averaged over the patterns, as estimated from the previous size. Version 3.1 of
  // the authors' program used a number that depends on the size alone.
  std::int64_t loops_of(std::size_t column, std::size_t m, int repetition) {
    if (t_.deterministic()) return host::averaged_calls();
    if (loop_s_ == 0) return b_eff_loops(largest_, sizes_[column], extent_.most_loops);
    if (column == 0) {
      if (repetition == 0) {
        exchange_.set(std::ranges::find(patterns_, Kind::random, &std::pair<Pattern, Kind>::second)->first,
                      sizes_.front());
        first_loops_[m] = t_.calls_lasting(loop_s_, most_loops, [&](std::int64_t) { exchange_(methods[m]); });
      }
      return first_loops_[m];
    }
    double call_s = call_s_[m];
    if (sizes_[column] > 4096) call_s *= static_cast<double>(sizes_[column]) / static_cast<double>(sizes_[column - 1]);
    return std::clamp<std::int64_t>(std::llround(loop_s_ / call_s), 1, most_loops);
  }

  void tell(const BEff& figures) {
    const double ranks = t_.ranks();
    t_.report("b_eff", figures.b_eff);
    t_.report("b_eff_per_process", figures.b_eff / ranks);
    t_.report("rings", figures.rings);
    t_.report("randoms", figures.randoms);
    t_.report("at_lmax", figures.at_largest);
    t_.report("at_lmax_per_process", figures.at_largest / ranks);
    t_.report("rings_at_lmax", figures.rings_at_largest);
    t_.report("rings_at_lmax_per_process", figures.rings_at_largest / ranks);
  }

  // Ping-pong between ranks 0 and 1 alone, at the largest size and at one byte.
  void pingpong() {
    const bool plays = t_.rank() < 2;
    const std::array sizes{std::int64_t{1}, largest_};
    MPI_Comm_split(t_.comm(), plays ? 0 : MPI_UNDEFINED, t_.rank(), &pair_);
    for (const std::int64_t bytes : sizes) exchange_.verify_round_trip(pair_, static_cast<int>(bytes));
    double trip_s[2] = {};
    if (plays) {
      int index = 0;
      for (const std::int64_t bytes : sizes) {
        const auto trip = [&] { exchange_.round_trip(pair_, static_cast<int>(bytes)); };
        trip();
        const auto loops = t_.deterministic() ? 1 : std::clamp<std::int64_t>(largest_ / bytes, 10, 300);
        const double start_s = clock::now();
        for (std::int64_t i = 0; i < loops; ++i) trip();
        trip_s[index++] = (clock::now() - start_s) / static_cast<double>(loops);
      }
    }
    t_.together(!plays);
    t_.report("pingpong_latency", trip_s[0] / 2);
    t_.report("pingpong_bandwidth", static_cast<double>(largest_) / (trip_s[1] / 2));
  }

  Trial& t_;
  BEffExtent extent_;
  std::int64_t largest_;
  double loop_s_;
  std::array<double, methods.size()> call_s_{};  // duration of a call by each method, at the latest size measured
  std::array<std::int64_t, methods.size()> first_loops_{};
  Exchange exchange_;
  MPI_Comm pair_ = MPI_COMM_NULL;  // of ranks 0 and 1, for the ping-pong
  std::vector<std::int64_t> sizes_;
  std::vector<std::pair<Pattern, Kind>> patterns_;
};

}  // namespace

static void b_eff(Trial& t) {
  BEffStudy study(t);
  t.study(std::ref(study));
}

BENCHMARK(b_eff,
          .summary = "effective bandwidth: rings and random patterns of all ranks, averaged over 21 message sizes",
          .source = "Rabenseifner and Koniges, Effective Communication and File-I/O Bandwidth Benchmarks, EuroPVM/MPI 2001",
          .sampling = Sampling::study,
          .sized = false,
          .reports = {{"b_eff", "B/s", "higher", "logarithmic average of rings and randoms"},
                      {"b_eff_per_process", "B/s", "higher"},
                      {"rings", "B/s", "higher", "logarithmic average over the six patterns of rings"},
                      {"randoms", "B/s", "higher", "logarithmic average over the random patterns"},
                      {"at_lmax", "B/s", "higher", "b_eff with the largest message alone"},
                      {"at_lmax_per_process", "B/s", "higher"},
                      {"rings_at_lmax", "B/s", "higher", "rings with the largest message alone"},
                      {"rings_at_lmax_per_process", "B/s", "higher"},
                      {"pingpong_bandwidth", "B/s", "higher", "between ranks 0 and 1, the largest message"},
                      {"pingpong_latency", "s", "lower", "between ranks 0 and 1, one byte"},
                      {"worst_order", "B/s", "higher", "one ring whose neighbours have distant rank numbers"},
                      {"grid_2d", "B/s", "higher", "all neighbours in a periodic two-dimensional grid"},
                      {"grid_3d", "B/s", "higher", "all neighbours in a periodic three-dimensional grid"}},
          .nominal_s = 36,
          .axes = {{"version", "full", "", "quick: 5 random patterns instead of 30, every second size, one repetition",
                    {"full", "quick"}},
                   {"loop_ms", "4", "ms", "duration of a loop of messages, mean over all patterns; 0: at most 300 messages, as in b_eff 3.1", Bounds{0, 10'000}},
                   {"lmax", "1048576", "B", "largest message; 0: 1/128 of a rank's memory, 128 MiB at most", {"0", Bounds{least_bytes, most_bytes}}}},
          .section = "effective",
          .place = 1,
          .tabled = false,
          .headlines = {{.title = "Effective bandwidth, per process", .metric = "b_eff_per_process", .place = 10}});
