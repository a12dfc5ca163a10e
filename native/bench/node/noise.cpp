// Noise: processor time that the system and other programs take from each core. Every rank repeats a quantum of work
// whose time is constant unless the core is interrupted (fixed work quantum, FWQ). Ranks do not communicate during the
// measurement.
#include <sched.h>

#include <cmath>

#include "bench/node/detours.hpp"
#include "measure/trial.hpp"
#include "platform/compute.hpp"
#include "support/failure.hpp"

using namespace kiviat;

namespace {

double microseconds_of(const Trial& t, const char* axis) { return 1e-6 * static_cast<double>(t.integer(axis)); }

class Study {
 public:
  explicit Study(Trial& t)
      : t_(t),
        quantum_s_(microseconds_of(t, "quantum_us")),
        threshold_s_(microseconds_of(t, "threshold_us")),
        quanta_(std::llround(1e-3 * static_cast<double>(t.integer("time_ms")) / quantum_s_)) {
    if (quanta_ < 1 || quanta_ > most_quanta)
      throw UsageError("time_ms=" + t.text("time_ms") + " contains " + std::to_string(quanta_) +
                       " quanta of quantum_us=" + t.text("quantum_us") + ": choose both so that there are 1 to " +
                       std::to_string(most_quanta));
    seconds_.assign(static_cast<std::size_t>(quanta_), 0);  // allocates the memory before anything is timed
  }

  void operator()() {
    const std::int64_t steps = steps_of_quantum();
    const std::vector<std::int64_t> parts = parts_of(quanta_, quantum_s_);
    const int first_processor = sched_getcpu();
    std::size_t done = 0;
    for (const std::int64_t quanta : parts) {
      t_.together();
      measure(steps, std::span(seconds_).subspan(done, static_cast<std::size_t>(quanta)));
      done += static_cast<std::size_t>(quanta);
      t_.progressed(static_cast<double>(done) / static_cast<double>(quanta_));
    }
    least_s_ = std::ranges::min(seconds_);
    report(parts);
    tabulate(first_processor, sched_getcpu());
  }

 private:
  static constexpr std::int64_t most_quanta = 10'000'000;

  // Returns the number of steps that take one quantum on an undisturbed core, as calibrated by the fastest rank.
  std::int64_t steps_of_quantum() const {
    constexpr std::int64_t probe_steps = 20'000;
    double least_s = INFINITY;
    for (int i = 0; i < 20; ++i) {
      const double start_s = clock::now();
      burn(probe_steps);
      least_s = std::min(least_s, clock::now() - start_s);
    }
    const double quickest_s = -t_.worst(-least_s);
    return std::max<std::int64_t>(1, std::llround(quantum_s_ / quickest_s * probe_steps));
  }

  // Each clock reading ends one quantum and starts the next, so that no time is lost between them.
  static void measure(std::int64_t steps, std::span<double> seconds) {
    burn(steps);
    double before_s = clock::now();
    for (double& quantum : seconds) {
      burn(steps);
      const double now_s = clock::now();
      quantum = now_s - before_s;
      before_s = now_s;
    }
  }

  // Reports one value per part of the time.
  void report(const std::vector<std::int64_t>& parts) {
    std::size_t done = 0;
    for (const std::int64_t quanta : parts) {
      const Detours mine =
          detours_of(std::span(seconds_).subspan(done, static_cast<std::size_t>(quanta)), least_s_, threshold_s_);
      done += static_cast<std::size_t>(quanta);
      const double sums[2] = {mine.share, mine.per_second};
      double all[2];
      MPI_Allreduce(sums, all, 2, MPI_DOUBLE, MPI_SUM, t_.comm());
      t_.report("noise", 100 * all[0] / t_.ranks());
      t_.report("noise_max", 100 * t_.worst(mine.share));
      t_.report("detour_max", t_.worst(mine.worst_s));
      t_.report("detour_rate", all[1] / t_.ranks());
    }
  }

  void tabulate(int first_processor, int last_processor) {
    const double share = detours_of(seconds_, least_s_, threshold_s_).share;
    std::ranges::sort(seconds_);
    const double mine[] = {least_s_,
                           quantile(seconds_, 0.5),
                           quantile(seconds_, 0.99),
                           seconds_.back(),
                           100 * share,
                           static_cast<double>(first_processor),
                           static_cast<double>(last_processor)};
    constexpr std::size_t values = std::size(mine);
    const std::size_t ranks = static_cast<std::size_t>(t_.ranks());
    std::vector<double> all(values * ranks);
    MPI_Gather(mine, values, MPI_DOUBLE, all.data(), values, MPI_DOUBLE, 0, t_.comm());
    std::vector<std::string> names;
    for (std::size_t rank = 0; rank < ranks; ++rank) names.push_back(std::to_string(rank));
    Table& quantum =
        t_.table("quantum", "s", "lower", {{"rank", names}, {"of quanta", {"minimum", "median", "P99", "maximum"}}});
    Table& noise = t_.table("noise", "%", "lower", {{"rank", names}});
    Table& processor = t_.table("processor", "1", "lower", {{"rank", names}, {"when", {"first", "last"}}});
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const double* of_rank = &all[rank * values];
      for (std::size_t column = 0; column < 4; ++column) quantum.at({rank, column}) = of_rank[column];
      noise.at({rank}) = of_rank[4];
      for (std::size_t column = 0; column < 2; ++column) processor.at({rank, column}) = of_rank[5 + column];
    }
  }

  Trial& t_;
  double quantum_s_, threshold_s_;
  std::int64_t quanta_;
  std::vector<double> seconds_;
  double least_s_ = 0;
};

}  // namespace

static void noise(Trial& t) {
  if (t.deterministic()) throw Skip("simulated processors have no noise: every quantum takes equally long");
  Study study(t);
  t.study(std::ref(study));
}

BENCHMARK(noise,
          .summary = "processor time lost to the system and other programs, measured by repeating a fixed quantum of work",
          .source = "fixed work quantum: Sottile and Minnich, Analysis of microbenchmarks for performance tuning of clusters, IEEE Cluster 2004",
          .aka = {"FWQ"},
          .sampling = Sampling::study,
          .ranks = at_least(1),
          .sized = false,
          .buffers = false,
          .reports = {{"noise", "%", "lower", "mean quantum over the rank's shortest one, minus 1: mean over ranks"},
                      {"noise_max", "%", "lower", "mean quantum over the rank's shortest one, minus 1: maximum over ranks"},
                      {"detour_max", "s", "lower", "longest quantum of a rank minus its shortest one: maximum over ranks"},
                      {"detour_rate", "1/s", "lower", "detours above threshold_us per second of a rank: mean over ranks"}},
          .nominal_s = 1.1,
          .axes = {{"quantum_us", "100", "us", "duration of the quantum of work", Bounds{1, 1'000'000}},
                   {"time_ms", "1000", "ms", "time during which the quantum is repeated", Bounds{1, 86'400'000}},
                   {"threshold_us", "5", "us", "quanta that take this much longer than the shortest one count as detours", Bounds{0, 1'000'000}}},
          .section = "overhead",
          .place = 3);
