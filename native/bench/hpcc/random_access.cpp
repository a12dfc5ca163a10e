// RandomAccess: random words of a large table are XORed with a number, on one rank, on each rank separately, or on all
// ranks with one distributed table. Only its owner writes a word, so no update may be lost or wrong.
#include <bit>

#include "bench/hpcc/scope.hpp"
#include "bench/hpcc/update_replay.hpp"
#include "bench/memory.hpp"
#include "platform/clock.hpp"
#include "platform/compute.hpp"

using namespace kiviat;

namespace {

constexpr std::int64_t batch = UpdateRouter::batch, simulated_batches = 8;
constexpr std::int64_t updates_per_word = 4;
// A simulated update reads and writes one cache line.
constexpr double bytes_of_update = 2 * 64;

// Logarithm of the largest power of two of words that takes at most half of the memory.
int bits_of(std::int64_t memory_bytes) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(memory_bytes) / 16)) - 1;
}

class Study {
 public:
  explicit Study(Trial& t)
      : t_(t),
        scope_(scope_of(t)),
        idle_(!computes(t, scope_)),
        time_s_(static_cast<double>(t.integer("time_s"))),
        share_{bits_of(memory_of(t) * parts()), parts()},
        mine_(scope_ == Scope::global ? t.rank() : 0),
        pages_(pages_of(t, idle_ ? 1 : share_.count(mine_) * sizeof(std::uint64_t))),
        part_{pages_.as<std::uint64_t>(), share_.first(mine_), share_.count(mine_), share_.mask()},
        router_(t.comm(), share_) {
    const std::int64_t all = updates_per_word << share_.bits;
    first_ = all / parts() * mine_ + all % parts() * mine_ / parts();
    most_ = all / parts() * (mine_ + 1) + all % parts() * (mine_ + 1) / parts() - first_;
    batches_ = ((all + parts() - 1) / parts() + batch - 1) / batch;  // number of batches of the rank with most updates
  }

  void operator()() {
    const bool stores = host::carries_payload() && !idle_;
    if (stores) reset(part_);
    const std::int64_t all_batches = batches_;
    batches_ = batches_in_time();
    if (stores) reset(part_);
    tally_ = {};
    double own_s = 0;
    const double slowest_s = t_.measured(
        "random_access",
        [&] {
          if (!idle_) own_s = seconds_of(batches_);
        },
        idle_);

    const double own_updates = idle_ ? 0 : static_cast<double>(range(batches_).count);
    const double rate = idle_ ? 0 : own_updates / (scope_ == Scope::global ? slowest_s : own_s);
    const double all_rates = sum(rate);
    t_.report("updates", scope_ == Scope::star ? all_rates / t_.ranks() : all_rates);
    t_.number("words", std::int64_t{1} << share_.bits);
    t_.note("table", "2^" + std::to_string(share_.bits) + " words" + (scope_ == Scope::star ? " on each rank" : ""));
    if (batches_ < all_batches)
      t_.note("updates", std::to_string(batches_ * batch) + " on each rank of " + std::to_string(all_batches * batch) +
                             (t_.deterministic() ? ": all batches take equally long in a simulation"
                                                 : ", as many as " + t_.text("time_s") + " s allow"));
    check();
  }

 private:
  int parts() const { return scope_ == Scope::global ? t_.ranks() : 1; }

  // This rank's updates of the first `batches` batches.
  UpdateRange range(std::int64_t batches) const { return {first_, std::min(most_, batches * batch)}; }

  double seconds_of(std::int64_t batches) {
    const double start_s = clock::now();
    run(batches);
    return clock::now() - start_s;
  }

  void run(std::int64_t batches) {
    const auto deliver = [this](std::span<const std::uint64_t> come) {
      work::run({.bytes = bytes_of_update * static_cast<double>(come.size())},
                [&] { updates::apply(part_, come, tally_); });
    };
    std::uint64_t numbers[batch], state = updates::starts(first_);
    const std::int64_t count = range(batches).count;
    for (std::int64_t b = 0; b < batches; ++b) {
      const std::span mine(numbers, static_cast<std::size_t>(std::clamp<std::int64_t>(count - b * batch, 0, batch)));
      updates::generate(state, mine);
      router_(mine, deliver);
    }
  }

  // Number of batches that fit into the time limit, determined by measurement; equal on all ranks.
  std::int64_t batches_in_time() {
    if (t_.deterministic()) return std::min(batches_, simulated_batches);
    constexpr double enough_s = 0.2;
    for (std::int64_t batches = 64;; batches *= 4) {
      if (batches >= batches_) return batches_;
      const double seconds = t_.seconds_of(
          1,
          [&](std::int64_t) {
            if (!idle_) run(batches);
          },
          idle_);
      if (seconds > enough_s)
        return std::clamp<std::int64_t>(std::llround(static_cast<double>(batches) * time_s_ / seconds), 1, batches_);
    }
  }

  void check() {
    Verdict verdict;
    if (host::carries_payload()) {
      if (!idle_) verdict = replayed(t_.comm(), share_, part_, range(batches_), tally_);
      const double words = static_cast<double>(share_.mask() + 1) * (scope_ == Scope::star ? t_.ranks() : 1);
      t_.report("errors", 100 * sum(static_cast<double>(verdict.wrong_words)) / words);
    }
    t_.confirm(verdict.reason.empty(), verdict.reason);
  }

  double sum(double mine) const {
    double all = 0;
    MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, t_.comm());
    return all;
  }

  Trial& t_;
  Scope scope_;
  bool idle_;
  double time_s_;
  TableShare share_;
  int mine_;  // number of this rank's part of the table
  HugePages pages_;
  updates::Part part_;
  UpdateRouter router_;
  std::int64_t first_, most_, batches_;
  updates::Tally tally_;
};

}  // namespace

static void random_access(Trial& t) {
  Study study(t);
  t.study(std::ref(study));
}

BENCHMARK(random_access,
          .summary = "updates of random words of a large table",
          .source = "HPC Challenge, RandomAccess: single, star and MPI; "
                    "Luszczek et al., Introduction to the HPC Challenge Benchmark Suite, 2005",
          .aka = {"GUPS"},
          .sampling = Sampling::study,
          .ranks = at_least(1),
          .sized = false,
          .buffers = false,
          .reports = {{"updates", "1/s", "higher", "updates per second; global: of all ranks; single and star: per rank, mean over ranks"},
                      {"errors", "%", "lower", "words that are wrong after a replay; HPC Challenge allows 1 %, "
                                               "here there must be none", true}},
          .nominal_s = 40,
          .axes = {scope_axis(true), memory_axis(), {"time_s", "20", "s", "time limit, which bounds the number of updates", Bounds{1, 36'000}}},
          .headlines = {{.title = "RandomAccess", .metric = "updates", .place = 17}},
          .problem = ProblemSize{.counts = "words", .words = "table {} words"});
