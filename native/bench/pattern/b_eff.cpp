// b_eff, the effective bandwidth: the accumulated bandwidth of the network, averaged over message sizes
// and over rings and random patterns in which all ranks send at once.
#include <cmath>
#include <numeric>

#include "bench/pattern/exchange.hpp"
#include "core/failure.hpp"

using namespace kiviat;

namespace {

// What the definition fixes, and what its quick version leaves out of it.
struct Extent {
  int randoms, repetitions, every_size;
  std::int64_t loops;
};
constexpr Extent full{30, 3, 1, 300}, quick{5, 1, 2, 60};

constexpr std::int64_t most_bytes = std::int64_t{128} << 20;

// 1, 2, 4 … 4096, then eight sizes in equal ratios up to `largest`.
std::vector<std::int64_t> sizes_up_to(std::int64_t largest) {
  std::vector<std::int64_t> sizes;
  for (int power = 0; power <= 12; ++power) sizes.push_back(std::int64_t{1} << power);
  const double ratio = std::pow(static_cast<double>(largest) / 4096, 1.0 / 8);
  for (int k = 1; k <= 8; ++k) sizes.push_back(std::llround(4096 * std::pow(ratio, k)));
  return sizes;
}

std::int64_t largest_of(const Trial& t) {
  const std::string asked = t.text("lmax");
  const std::int64_t largest = asked == "memory"
      ? std::min(most_bytes, static_cast<std::int64_t>(t.session().memory_share_bytes / 128))
      : t.integer("lmax");
  if (largest < 4096 || largest > most_bytes)
    throw UsageError("lmax=" + asked + ": give 4096 to " + std::to_string(most_bytes) + " bytes, or memory");
  return largest;
}

double log_average(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

// What a pattern is for: its part in the averages.
enum class Kind { ring, random, extra };

struct Measured {
  double average, at_largest;  // over all sizes, and at the largest alone
};

class Study {
 public:
  explicit Study(Trial& t)
      : t_(t), extent_(t.text("version") == "full" ? full : quick), largest_(largest_of(t)), exchange_(t, largest_) {
    const std::vector<std::int64_t> all = sizes_up_to(largest_);
    for (std::size_t i = 0; i < all.size(); i += extent_.every_size) sizes_.push_back(all[i]);
    choose_patterns();
  }

  void operator()() {
    std::vector<std::string> names, bytes;
    for (const auto& [pattern, kind] : patterns_) names.push_back(pattern.name);
    for (const std::int64_t size : sizes_) bytes.push_back(std::to_string(size));
    Table& table = t_.table("bandwidth", "B/s", "higher",
                            {{"pattern", names}, {"bytes", bytes}, {"method", {method_names.begin(), method_names.end()}}});
    std::vector<Measured> measured;
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      measured.push_back(measure(patterns_[i].first, i, table));
      t_.progressed(static_cast<double>(i + 1) / static_cast<double>(patterns_.size()));
    }
    averages(measured);
    pingpong();
  }

 private:
  void choose_patterns() {
    const int ranks = t_.ranks(), rank = t_.rank();
    const std::vector<int> natural = natural_order(ranks);
    for (const int target : ring_targets(ranks))
      patterns_.emplace_back(ring_pattern("rings of " + std::to_string(target), natural, ring_sizes(ranks, target), rank), Kind::ring);
    for (int i = 0; i < extent_.randoms; ++i)
      patterns_.emplace_back(ring_pattern("random " + std::to_string(i), random_order(ranks, t_.seed() + i), {ranks}, rank), Kind::random);
    patterns_.emplace_back(ring_pattern("worst order", worst_order(ranks), {ranks}, rank), Kind::extra);
    for (const int dimensions : {2, 3}) {
      std::vector<int> dims(dimensions, 0), along(dimensions);
      MPI_Dims_create(ranks, dimensions, dims.data());
      std::iota(along.begin(), along.end(), 0);
      patterns_.emplace_back(grid_pattern(std::to_string(dimensions) + "-D grid", dims, along, rank), Kind::extra);
    }
  }

  // The best of methods and repetitions at each size.
  Measured measure(const Pattern& pattern, std::size_t row, Table& table) {
    double sum = 0, best = 0;
    for (std::size_t column = 0; column < sizes_.size(); ++column) {
      const std::int64_t bytes = sizes_[column], loops = std::clamp<std::int64_t>(largest_ / bytes, 1, extent_.loops);
      exchange_.set(pattern, bytes);
      best = 0;
      for (std::size_t m = 0; m < methods.size(); ++m) {
        // Each payload once by each method: at a size that is cheap to look at, and at the largest.
        if (bytes == sizes_.front() || bytes == largest_) exchange_.verify(methods[m]);
        else exchange_(methods[m]);  // what the last size left cold is warm again
        double most = 0;
        for (int repetition = 0; repetition < extent_.repetitions; ++repetition) {
          const double seconds = t_.seconds_of(loops, [&](std::int64_t) { exchange_(methods[m]); });
          most = std::max(most, static_cast<double>(bytes) * static_cast<double>(pattern.total * loops) / seconds);
        }
        table.at({row, column, m}) = most;
        best = std::max(best, most);
      }
      sum += best;
    }
    return {sum / static_cast<double>(sizes_.size()), best};
  }

  void averages(const std::vector<Measured>& measured) {
    std::vector<double> of[2], at_largest[2];
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const Kind kind = patterns_[i].second;
      if (kind == Kind::extra) continue;
      of[kind == Kind::random].push_back(measured[i].average);
      at_largest[kind == Kind::random].push_back(measured[i].at_largest);
    }
    const double rings = log_average(of[0]), randoms = log_average(of[1]);
    const double rings_at_largest = log_average(at_largest[0]), ranks = t_.ranks();
    const double b_eff = log_average({rings, randoms}), both_at_largest = log_average({rings_at_largest, log_average(at_largest[1])});
    t_.report("b_eff", b_eff);
    t_.report("b_eff_per_process", b_eff / ranks);
    t_.report("rings", rings);
    t_.report("randoms", randoms);
    t_.report("at_lmax", both_at_largest);
    t_.report("at_lmax_per_process", both_at_largest / ranks);
    t_.report("rings_at_lmax", rings_at_largest);
    t_.report("rings_at_lmax_per_process", rings_at_largest / ranks);
    const char* extras[] = {"worst_order", "grid_2d", "grid_3d"};
    for (std::size_t i = 0; i < std::size(extras); ++i) t_.report(extras[i], measured[measured.size() - std::size(extras) + i].average);
  }

  // Ranks 0 and 1 alone, at the largest size and at one byte.
  void pingpong() {
    const bool plays = t_.rank() < 2;
    MPI_Comm pair;
    MPI_Comm_split(t_.comm(), plays ? 0 : MPI_UNDEFINED, t_.rank(), &pair);
    double trip_s[2] = {};
    if (plays) {
      int index = 0;
      for (const std::int64_t bytes : {std::int64_t{1}, largest_}) {
        const auto trip = [&] { exchange_.round_trip(pair, static_cast<int>(bytes)); };
        trip();
        const auto loops = std::clamp<std::int64_t>(largest_ / bytes, 10, 300);
        const double start_s = clock::now();
        for (std::int64_t i = 0; i < loops; ++i) trip();
        trip_s[index++] = (clock::now() - start_s) / static_cast<double>(loops);
      }
      MPI_Comm_free(&pair);
    }
    t_.together(!plays);
    t_.report("pingpong_latency", trip_s[0] / 2);
    t_.report("pingpong_bandwidth", static_cast<double>(largest_) / (trip_s[1] / 2));
  }

  Trial& t_;
  Extent extent_;
  std::int64_t largest_;
  Exchange exchange_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::pair<Pattern, Kind>> patterns_;
};

}  // namespace

static void b_eff(Trial& t) {
  Study study(t);
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
                      {"randoms", "B/s", "higher", "likewise over the random patterns"},
                      {"at_lmax", "B/s", "higher", "b_eff with the largest message alone"},
                      {"at_lmax_per_process", "B/s", "higher"},
                      {"rings_at_lmax", "B/s", "higher", "rings with the largest message alone"},
                      {"rings_at_lmax_per_process", "B/s", "higher"},
                      {"pingpong_bandwidth", "B/s", "higher", "between ranks 0 and 1, the largest message"},
                      {"pingpong_latency", "s", "lower", "between ranks 0 and 1, one byte"},
                      {"worst_order", "B/s", "higher", "one ring whose neighbours are far apart"},
                      {"grid_2d", "B/s", "higher", "all neighbours in a periodic grid of two dimensions"},
                      {"grid_3d", "B/s", "higher", "likewise of three"}},
          .nominal_s = 10,
          .axes = {{"version", "full", "", "quick: 5 random patterns instead of 30, every second size, one repetition, 60 loops",
                    {"full", "quick"}},
                   {"lmax", "1048576", "B", "largest message; memory: 1/128 of a rank's memory, 128 MiB at most"}});
