// Times calls one by one. All ranks start together, at a time agreed on the global clock or after a barrier; a call
// lasts from the first start to the last exit.
#include <algorithm>
#include <cmath>

#include "measure/trial.hpp"
#include "platform/node.hpp"
#include "support/failure.hpp"

namespace kiviat {
namespace {

// Start of a call on all ranks together: at an agreed time or after a barrier.
struct Starts {
  bool window;      // start at agreed times; otherwise after a barrier
  double length_s;  // interval between agreed times
  double late_s;    // a start this much after the agreed time counts as missed
  long missed = 0;
  int widened = 0;

  // Doubles intervals that are too short; if that does not help, calls start after a barrier.
  void learn(long missed_now, std::int64_t calls) {
    missed += missed_now;
    if (4 * missed_now <= calls) {
      widened = 0;
      return;
    }
    length_s *= 2, late_s *= 1.5;
    window = window && ++widened <= 4;
  }
};

// A rank's record of a call, in local time. Everything else is computed after the block, because work between a call
// and the next barrier would influence which rank leaves the barrier first, and so the time of short calls.
struct Call {
  double start_s, end_s, late_s;
};

// A block of calls: this rank's times, and after reduce(), on rank 0, those of all ranks combined.
class Block {
 public:
  explicit Block(std::size_t calls)
      : calls_(calls), ends_(2 * calls, -INFINITY), most_(4 * calls, -INFINITY), sum_(calls, 0), spans_(calls, 0) {}

  void add(std::size_t i, const Call& call, const GlobalClock& global) {
    const double own_s = call.end_s - call.start_s;
    ends_[i] = global.to_global(call.end_s), ends_[calls_ + i] = -global.to_global(call.start_s);
    most_[calls_ + i] = own_s, most_[2 * calls_ + i] = -own_s, most_[3 * calls_ + i] = call.late_s;
    sum_[i] = own_s;
  }
  // Combines the members of each `group`, then all groups; the slowest one counts.
  void reduce(MPI_Comm group, MPI_Comm all) {
    to_root(group, ends_, MPI_MAX);
    int rank;
    MPI_Comm_rank(group, &rank);
    for (std::size_t i = 0; i < calls_ && rank == 0; ++i) spans_[i] = ends_[i] + ends_[calls_ + i];
    std::ranges::copy(spans_, most_.begin());
    to_root(all, most_, MPI_MAX);
    to_root(all, sum_, MPI_SUM);
  }
  const std::vector<double>& spans() const { return spans_; }  // of this rank's group, on its first rank; else 0
  double span(std::size_t i) const { return most_[i]; }        // first start to last exit, of the slowest group
  double slowest(std::size_t i) const { return most_[calls_ + i]; }
  double quickest(std::size_t i) const { return -most_[2 * calls_ + i]; }
  double latest(std::size_t i) const { return most_[3 * calls_ + i]; }
  double sum(std::size_t i) const { return sum_[i]; }

 private:
  static void to_root(MPI_Comm comm, std::vector<double>& values, MPI_Op op) {
    int rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : values.data(), values.data(), static_cast<int>(values.size()), MPI_DOUBLE, op,
               0, comm);
  }

  std::size_t calls_;
  std::vector<double> ends_;  // exits and, negative, starts
  std::vector<double> most_, sum_, spans_;
};

}  // namespace

void Trial::per_call(Operation operation, Calls how) {
  if (result_.mode == "pallas2") {
    batched(operation, {.divisor = how.divisor});
    return;
  }
  const bool fixed = result_.mode == "fixed", round_trips = benchmark_.traits.sampling == Sampling::round_trips;
  const std::string sync = spec_.text("sync", "window");
  if (sync != "window" && sync != "barrier") throw UsageError("sync is '" + sync + "': give window or barrier");
  if (!spec_.words.contains("min_samples") && limits_.min_samples < how.min_samples)
    limits_.min_samples = std::min(how.min_samples, limits_.max_samples);

  begin(operation);
  Metric& time = add_metric("time", "s", "lower", true);
  if (deterministic()) {
    operation(0);  // the first call on a communicator may exchange extra messages for its setup
    for (int calls = round_trips ? host::settling_calls() : 0; calls > 0; --calls) operation(0);
    together();
    if (!round_trips) clock::wait_until(clock::now() + host::refill_s());  // as long as links rest before each call
    const double start_s = clock::now();
    operation(0);
    const double mine_s = how.timed ? clock::now() - start_s : 0, seconds = worst(mine_s);
    if (all_rank_ == 0) time.samples.add(seconds / how.divisor);
    add_group_times({&mine_s, 1}, {true}, how.divisor);
    result_.stopped_by = "fixed", result_.sync = "barrier", result_.batch = 1;
    finish(operation);
    return;
  }
  Metric& mean = add_metric("time_rank_mean", "s", "lower", true);
  Metric& most = add_metric("time_rank_max", "s", "lower", true);
  Metric& least = add_metric("time_rank_min", "s", "lower", true);

  // Warm-up, which also estimates the duration of a call. Windows need an estimate even if no warm-up is wanted.
  const double warm_s = std::min(1e-3, limits_.budget_s / 100), begun_s = clock::now();
  std::int64_t call = 0;
  double call_s = 1e-6;
  for (bool warm = fixed && warmup_ == 0 && sync == "barrier"; !warm;) {
    together();
    const double start_s = clock::now();
    operation(call);
    const double seconds = worst(clock::now() - start_s);
    call_s = call == 0 ? seconds : std::min(call_s, seconds);
    ++call;
    warm = fixed ? call >= warmup_ : worst(clock::now() - begun_s) >= warm_s && call >= 2;
  }

  GlobalClock& global = common_clock();
  double timed_ranks = how.timed;
  MPI_Allreduce(MPI_IN_PLACE, &timed_ranks, 1, MPI_DOUBLE, MPI_SUM, all_);
  // Ranks that share a processor cannot all spin until the start of a window.
  const double refill_s = host::refill_s();
  Starts starts{sync == "window" && !session_.oversubscribed && !round_trips, 1.25 * call_s + 2e-6 + refill_s,
                std::max(0.1 * call_s, 2e-7)};

  const auto take = [&](std::int64_t calls) {
    const auto n = static_cast<std::size_t>(calls);
    std::vector<Call> noted(n);
    double first_s = 0;
    global.refresh();
    // One untimed call reloads the caches after the bookkeeping of the last block; a round trip also absorbs the skew
    // of the barrier.
    together();
    operation(call);
    if (starts.window) {
      const double pause_s = std::max(std::min(4 * starts.length_s, 100e-6), refill_s);
      first_s = global.to_global(clock::now()) + 50e-6 + pause_s;
      MPI_Bcast(&first_s, 1, MPI_DOUBLE, 0, all_);
    }
    for (std::size_t i = 0; i < n; ++i) {
      double start_s, late_s = 0;
      if (starts.window) {
        const double due_s = global.to_local(first_s + static_cast<double>(i) * starts.length_s);
        start_s = clock::wait_until(due_s);
        late_s = start_s - due_s;
      } else {
        if (!round_trips) {
          const double rested_s = clock::now() + refill_s;  // ranks that share a processor sleep until then
          if (session_.oversubscribed && refill_s > 0) {
            clock::sleep_until(rested_s);
          } else {
            clock::wait_until(rested_s);
          }
          together();
        }
        start_s = clock::now();
      }
      operation(call + static_cast<std::int64_t>(i));
      noted[i] = {start_s, clock::now(), late_s};
    }
    call += calls;
    together();  // finished ranks send nothing while others still measure
    Block block(n);
    std::vector<double> mine(n, 0);
    for (std::size_t i = 0; i < n && how.timed; ++i) {
      mine[i] = noted[i].end_s - noted[i].start_s;
      block.add(i, noted[i], global);
    }
    block.reduce(comm_, all_);

    long missed = 0;
    std::vector<bool> counts(n, true);
    for (std::size_t i = 0; i < n && all_rank_ == 0; ++i) {
      if (block.latest(i) > starts.late_s) {
        ++missed;
        counts[i] = false;
        continue;
      }
      time.samples.add((round_trips ? block.slowest(i) : block.span(i)) / how.divisor);
      mean.samples.add(block.sum(i) / timed_ranks / how.divisor);
      most.samples.add(block.slowest(i) / how.divisor);
      least.samples.add(block.quickest(i) / how.divisor);
    }
    add_group_times(round_trips ? mine : block.spans(), counts, how.divisor);
    MPI_Bcast(&missed, 1, MPI_LONG, 0, all_);
    const bool agreed = starts.window;
    starts.learn(missed, calls);
    if (agreed && !starts.window)  // calls after a barrier are another quantity
      for (Metric& metric : result_.metrics) metric.samples = Reservoir();
  };

  if (fixed) {
    // Repeats calls that missed their start. After a few blocks without a result, calls start at a barrier.
    for (std::int64_t taken = 0; taken < iterations_;) {
      take(std::min<std::int64_t>(iterations_ - taken, 4096));
      taken = static_cast<std::int64_t>(time.samples.count());
      MPI_Bcast(&taken, 1, MPI_INT64_T, 0, all_);
    }
    result_.stopped_by = "fixed";
  } else {
    const bool agreed = starts.window;
    const auto given_up = [&] { return agreed && !starts.window; };
    sample_until_stopped(starts.length_s, time, take, given_up);
    // Reports a result even if the machine is too busy for any common start: if windows were given up, or no sample was
    // taken, samples again with starts after a barrier.
    int missed_all = starts.missed > 0 && time.samples.count() == 0;
    MPI_Bcast(&missed_all, 1, MPI_INT, 0, all_);
    if (missed_all || given_up()) {
      starts.window = false;
      sample_until_stopped(starts.length_s, time, take);
    }
  }
  result_.sync = round_trips ? "back-to-back" : starts.window ? "window" : "barrier";
  if (sync == "window" && !round_trips) result_.missed_windows = starts.missed;
  result_.batch = 1;
  finish(operation);
}

}  // namespace kiviat
