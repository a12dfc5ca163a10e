#include "core/trial.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <sstream>

#include "core/failure.hpp"
#include "core/payload.hpp"
#include "core/random.hpp"
#include "core/work.hpp"

namespace kiviat {
namespace {

// Controls are common to all benchmarks; every other word of a case must be one of its axes.
constexpr std::string_view controls[] = {"ranks",       "bytes",      "mode",       "sync",   "target", "budget_s",
                                         "min_samples", "max_samples", "iterations", "warmup", "seed"};

// The iterations of IMB's defaults: 1000, fewer where 40 MiB would be exceeded.
std::int64_t default_iterations(std::int64_t bytes) {
  return bytes == 0 ? 1000 : std::clamp<std::int64_t>((40 << 20) / bytes, 1, 1000);
}

std::span<float> floats(Buffer& buffer, std::size_t count) {
  return {reinterpret_cast<float*>(buffer.first().data()), count};
}

}  // namespace

Trial::Trial(const Case& spec, const Benchmark& benchmark, Session& session, MPI_Comm members)
    : spec_(spec), benchmark_(benchmark), session_(session), all_(members), started_s_(clock::now()) {
  MPI_Comm_rank(all_, &all_rank_);
  MPI_Comm_size(all_, &all_ranks_);

  for (const auto& [key, value] : spec.words) {
    if (std::ranges::find(controls, key) != std::end(controls)) continue;
    const Axis* axis = benchmark.axis(key);
    if (!axis) throw UsageError(benchmark.name + " has no axis '" + key + "'; --describe lists its axes");
    if (!axis->values.empty() && std::ranges::find(axis->values, value) == axis->values.end()) {
      std::string known;
      for (const std::string& v : axis->values) known += (known.empty() ? "" : ", ") + v;
      throw UsageError(benchmark.name + ": " + key + " is '" + value + "': give one of " + known);
    }
  }

  const std::int64_t group = integer("group");
  if (group < 0 || (group > 0 && all_ranks_ % group != 0))
    throw UsageError("group=" + std::to_string(group) + " does not divide " + std::to_string(all_ranks_) + " ranks");
  const int group_ranks = group ? static_cast<int>(group) : all_ranks_;
  if (!benchmark.traits.ranks.allows(group_ranks))
    throw Skip(benchmark.name + " needs " + benchmark.traits.ranks.text() + " ranks, not " + std::to_string(group_ranks));
  bytes_ = benchmark.traits.sized ? spec.integer("bytes", 0) : 0;
  if (bytes_ < 0) throw UsageError("bytes=" + std::to_string(bytes_) + " is negative");
  if (bytes_ % benchmark.traits.element_bytes != 0)
    throw Skip(std::to_string(bytes_) + " B is no whole number of elements of " +
               std::to_string(benchmark.traits.element_bytes) + " B");

  result_.metrics.reserve(16);  // references into it are handed out
  result_.mode = spec.text("mode", "adaptive");
  if (result_.mode != "adaptive" && result_.mode != "fixed" && result_.mode != "pallas2")
    throw UsageError("mode is '" + result_.mode + "': give adaptive, fixed or pallas2");
  result_.clock_cost_s = session.clock_cost_s;
  limits_.target = spec.real("target", limits_.target);
  limits_.budget_s = spec.real("budget_s", limits_.budget_s);
  limits_.min_samples = static_cast<std::size_t>(std::max<std::int64_t>(1, spec.integer("min_samples", 16)));
  limits_.max_samples = static_cast<std::size_t>(std::max<std::int64_t>(1, spec.integer("max_samples", 1000)));
  iterations_ = spec.integer("iterations", default_iterations(bytes_));
  warmup_ = spec.integer("warmup", std::max<std::int64_t>(iterations_ / 10, 10));
  if (iterations_ < 1 || warmup_ < 0) throw UsageError("iterations must be at least 1 and warmup at least 0");
  seed_ = static_cast<std::uint64_t>(spec.integer("seed", 1));

  if (benchmark.axis("root")) {
    const std::int64_t root = integer("root"), shift = spec.integer("shift", result_.mode == "pallas2" ? 1 : 0);
    if (root < 0 || root >= group_ranks)
      throw UsageError("root=" + std::to_string(root) + " is none of the " + std::to_string(group_ranks) + " ranks");
    if (shift < 0) throw UsageError("shift=" + std::to_string(shift) + " is negative");
    root_ = static_cast<int>(root), shift_ = static_cast<int>(shift % group_ranks);
  }

  MPI_Comm_split(all_, all_rank_ / group_ranks, all_rank_, &comm_);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &ranks_);
  // Groups carry different payloads: what strays from one into another is noticed.
  if (group) seed_ = mix(seed_ + static_cast<std::uint64_t>(all_rank_ / group_ranks));
}

Trial::~Trial() {
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

int Trial::fitting(std::int64_t number, std::string_view what) {
  if (number > INT_MAX)
    throw Skip(std::to_string(number) + ' ' + std::string(what) + " exceeds what one MPI call can count (" +
               std::to_string(INT_MAX) + ")");
  return static_cast<int>(number);
}

int Trial::count() const { return fitting(bytes_, "B"); }

std::int64_t Trial::integer(std::string_view axis) const { return to_integer(text(axis), axis); }

std::string Trial::text(std::string_view axis) const { return spec_.text(axis, benchmark_.axis(axis)->fallback); }

Buffer& Trial::buffer(std::size_t bytes) {
  const auto source = text("buffer") == "alloc_mem" ? Buffer::Source::alloc_mem : Buffer::Source::malloc;
  const std::size_t rotate = text("cache") == "off" ? 2 * session_.cache_bytes : 0;
  std::size_t left = session_.memory_share_bytes;
  for (const auto& other : buffers_) left -= std::min(left, other->total_bytes());
  return *buffers_.emplace_back(std::make_unique<Buffer>(bytes, source, rotate, left));
}

void Trial::sends(Buffer& buffer) { sent_.push_back(&buffer); }

void Trial::expects(Buffer& buffer, std::vector<Piece> pieces) { expected_.push_back({&buffer, std::move(pieces)}); }

void Trial::contributes(Buffer& buffer, std::size_t elements) { contributed_.push_back({&buffer, elements, 0}); }

void Trial::expects_sum(Buffer& buffer, std::size_t elements, std::size_t first) {
  sums_.push_back({&buffer, elements, first});
}

// --- agreement and checks -----------------------------------------------------------------------

double Trial::worst(double value) const {
  double most;
  MPI_Allreduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, all_);
  return most;
}

void Trial::together() { MPI_Barrier(all_); }

void Trial::begin(const Operation& operation) {
  const bool missing = std::ranges::any_of(buffers_, [](const auto& buffer) { return !buffer->allocated(); });
  if (worst(missing) > 0) {
    std::size_t wanted = 0;
    for (const auto& buffer : buffers_) wanted += buffer->total_bytes();
    throw Skip("buffers of " + std::to_string(static_cast<long long>(worst(static_cast<double>(wanted)))) +
               " B per rank do not fit into the memory available");
  }
  for (const auto& buffer : buffers_) buffer->touch();
  const bool nothing_to_see = !custom_check_ && (expected_.empty() && sums_.empty() ? true : bytes_ == 0);
  if (worst(!nothing_to_see) == 0) {
    result_.check_reason = "no payload";
    return;
  }
  result_.check = payload_arrives(operation) ? "passed" : "failed";
}

void Trial::finish(const Operation& operation) {
  if (result_.check == "passed" && !payload_arrives(operation)) result_.check = "failed";
  if (result_.check == "failed") {
    result_.outcome = "failed", result_.phase = "check";
    result_.reason = result_.check_reason;
  } else if (all_rank_ == 0 && result_.metrics.front().samples.count() == 0) {
    result_.outcome = "failed", result_.phase = "timing";
    result_.reason = "no sample within the budget";
  }
  result_.elapsed_s = clock::now() - started_s_;
}

bool Trial::payload_arrives(const Operation& operation) {
  ++seed_;  // what the last check left behind is wrong this time
  std::ostringstream wrong;
  if (custom_check_) {
    if (!custom_check_()) wrong << "rank " << all_rank_ << ": the operation did not do what it is for";
  } else {
    for (const auto& buffer : buffers_) buffer->rewind();
    for (Buffer* buffer : sent_) payload::fill(buffer->first(), seed_, rank_);
    for (const Sum& sum : contributed_) payload::fill_addends(floats(*sum.buffer, sum.elements), seed_, rank_);
    for (const Expectation& e : expected_)
      for (const Piece& piece : e.pieces)
        payload::poison(e.buffer->first().subspan(piece.at, piece.length), seed_, piece.sender, piece.offset);
    for (const Sum& sum : sums_) payload::poison_sums(floats(*sum.buffer, sum.elements), seed_, ranks_, sum.first);

    together();
    operation(0);

    for (const Expectation& e : expected_)
      for (const Piece& piece : e.pieces) {
        const auto at = payload::first_wrong(e.buffer->first().subspan(piece.at, piece.length), seed_, piece.sender, piece.offset);
        if (at < piece.length && wrong.tellp() == 0)
          wrong << "rank " << all_rank_ << ": byte " << at << " of " << piece.length << " from rank " << piece.sender << " is wrong";
      }
    for (const Sum& sum : sums_) {
      const auto at = payload::first_wrong_sum(floats(*sum.buffer, sum.elements), seed_, ranks_, sum.first);
      if (at < sum.elements && wrong.tellp() == 0)
        wrong << "rank " << all_rank_ << ": element " << at << " of " << sum.elements << " is not the sum over the ranks";
    }
    for (const auto& buffer : buffers_) buffer->rewind();
  }

  // The lowest rank that saw something wrong tells everybody.
  int mine = wrong.tellp() > 0 ? all_rank_ : INT_MAX, first;
  MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, all_);
  if (first == INT_MAX) return true;
  char reason[160] = {};
  wrong.str().copy(reason, sizeof reason - 1);
  MPI_Bcast(reason, sizeof reason, MPI_CHAR, first, all_);
  result_.check_reason = reason;
  return false;
}

bool Trial::separates(const std::function<void()>& operation) {
  // Between clock domains entries and exits are known to about the clocks' agreement only; half of the delay
  // is more than that, and no barrier that does not wait is off by less than the whole of it.
  constexpr double delay_s = 200e-6;
  const double slack_s = session_.global_clock.shared() ? 0 : delay_s / 2;
  bool separated = true;
  for (int late = 0; late < std::min(ranks_, 4); ++late) {
    MPI_Barrier(comm_);
    if (rank_ == late) clock::wait_until(clock::now() + delay_s);
    const double entered = session_.global_clock.to_global(clock::now());
    operation();
    const double left = session_.global_clock.to_global(clock::now());
    double last_entered, first_left;
    MPI_Allreduce(&entered, &last_entered, 1, MPI_DOUBLE, MPI_MAX, comm_);
    MPI_Allreduce(&left, &first_left, 1, MPI_DOUBLE, MPI_MIN, comm_);
    separated = separated && first_left + slack_s >= last_entered;
  }
  return separated;
}

// --- sampling -----------------------------------------------------------------------------------

Metric& Trial::add_metric(const char* name, const char* unit, const char* better, bool per_call) {
  return result_.metrics.emplace_back(Metric{name, unit, better, per_call, Reservoir()});
}

void Trial::derive_rates(double messages) {
  const bool per_call = result_.metrics.front().per_call;
  const auto derive = [&](const char* name, const char* unit, double numerator) {
    result_.metrics.push_back({name, unit, "higher", per_call, Reservoir(0), "time", numerator});
  };
  if (benchmark_.traits.bandwidth && bytes_ > 0) derive("bandwidth", "B/s", messages * static_cast<double>(bytes_));
  if (benchmark_.traits.message_rate) derive("message_rate", "1/s", messages);
}

// Rank 0 decides from its samples how many more to take; sample_block(n) takes them on all ranks.
template <class Sample>
void Trial::sample_until_stopped(double sample_s, Metric& primary, Sample sample_block) {
  const double start_s = clock::now();
  for (;;) {
    std::int64_t block = 0;
    if (all_rank_ == 0) {
      const double elapsed_s = clock::now() - start_s;
      const auto reason = stop_reason(limits_, primary.samples.kept(), elapsed_s);
      if (reason) {
        result_.stopped_by = *reason;
      } else {
        block = static_cast<std::int64_t>(next_block(limits_, primary.samples.count(), sample_s, elapsed_s));
      }
    }
    MPI_Bcast(&block, 1, MPI_INT64_T, 0, all_);
    if (block == 0) return;
    sample_block(block);
  }
}

void Trial::run_batched(const Loop& loop, Batch how) {
  const Operation once = [&](std::int64_t call) { loop(call, 1); };
  begin(once);
  Metric& time = add_metric("time", "s", "lower", false);
  std::int64_t call = 0;
  const auto elapsed = [&](std::int64_t calls) {
    const double start = clock::now();
    loop(call, calls);
    const double seconds = clock::now() - start;
    call += calls;
    return how.initiator && rank_ != 0 ? 0.0 : seconds;
  };
  std::vector<double> mine, most;
  const auto take = [&](std::int64_t samples, std::int64_t calls) {
    mine.assign(samples, 0), most.assign(samples, 0);
    together();
    if (how.initiator) elapsed(1);  // absorbs the skew of the barrier; later calls synchronise themselves
    for (double& sample : mine) {
      if (!how.initiator) together();
      sample = elapsed(calls);
    }
    MPI_Reduce(mine.data(), most.data(), static_cast<int>(samples), MPI_DOUBLE, MPI_MAX, 0, all_);
    if (all_rank_ == 0)
      for (const double seconds : most) time.samples.add(seconds / static_cast<double>(calls) / how.divisor);
  };

  std::int64_t calls;
  if (result_.mode == "adaptive") {
    // A batch lasts long enough for two readings of the clock to cost < 1 % of it; finding its length
    // is the warm-up as well.
    const double batch_s = std::max(400 * session_.clock_cost_s, 20e-6), warm_s = std::min(2e-3, limits_.budget_s / 10);
    double total_s = 0;
    // A rank that loses its processor for a moment makes any batch look long: it must be so twice in a row.
    int confirmed = 0;
    for (calls = 1;;) {
      together();
      const double seconds = worst(elapsed(calls));
      total_s += seconds;
      const bool long_enough = seconds >= batch_s || calls >= (1 << 22);
      confirmed = long_enough ? confirmed + 1 : 0;
      if ((confirmed >= 2 && total_s >= warm_s) || seconds >= limits_.budget_s) {
        sample_until_stopped(seconds, time, [&](std::int64_t block) { take(block, calls); });
        break;
      }
      if (!long_enough) calls = std::max(calls + 1, static_cast<std::int64_t>(calls * std::min(8.0, 1.2 * batch_s / std::max(seconds, 1e-9))));
    }
  } else {
    calls = iterations_;
    together();
    if (warmup_ > 0) elapsed(warmup_);
    take(1, calls);
    result_.stopped_by = "fixed";
  }
  result_.sync = result_.mode == "pallas2" ? "back-to-back" : "batched";
  result_.batch = calls;
  derive_rates(how.messages);
  finish(once);
}

// How calls are started together: at a common time, or after a barrier.
struct Trial::Starts {
  bool window;
  double length_s;   // from one start to the next
  double late_s;     // a start later than this missed its window
  long missed = 0;
  int widened = 0;

  static constexpr int most_widenings = 4;
};

void Trial::per_call(Operation operation, Calls how) {
  if (result_.mode == "pallas2") {
    run_batched([&](std::int64_t first, std::int64_t calls) {
      for (std::int64_t i = first; i < first + calls; ++i) operation(i);
    }, {.divisor = how.divisor});
    return;
  }
  if (!spec_.words.contains("min_samples") && limits_.min_samples < how.min_samples)
    limits_.min_samples = std::min(how.min_samples, limits_.max_samples);
  begin(operation);
  Metric& time = add_metric("time", "s", "lower", true);
  Metric& mean = add_metric("time_rank_mean", "s", "lower", true);
  Metric& most = add_metric("time_rank_max", "s", "lower", true);
  Metric& least = add_metric("time_rank_min", "s", "lower", true);

  // Warm-up, which also tells about how long one call takes.
  const bool fixed = result_.mode == "fixed";
  const std::int64_t warmup = fixed ? warmup_ : INT64_MAX;
  const double warm_s = std::min(2e-3, limits_.budget_s / 10), begun_s = clock::now();
  std::int64_t call = 0;
  double call_s = 1e-6;
  for (bool warm = warmup == 0; !warm;) {
    together();
    const double start = clock::now();
    operation(call);
    const double seconds = worst(clock::now() - start);
    call_s = call == 0 ? seconds : std::min(call_s, seconds);
    ++call;
    warm = fixed ? call >= warmup : worst(clock::now() - begun_s) >= warm_s && call >= 4;
  }

  const std::string sync = spec_.text("sync", "window");
  if (sync != "window" && sync != "barrier") throw UsageError("sync is '" + sync + "': give window or barrier");
  // Ranks that share a processor cannot all spin towards one moment.
  Starts starts{sync == "window" && !session_.oversubscribed && !how.round_trip, 2 * call_s + 5e-6, std::max(0.1 * call_s, 2e-7)};

  const double timed_ranks = [&] {
    double ranks = how.timed;
    MPI_Allreduce(MPI_IN_PLACE, &ranks, 1, MPI_DOUBLE, MPI_SUM, all_);
    return ranks;
  }();
  std::vector<double> extremes, sums, reduced, reduced_sums;
  const auto take = [&](std::int64_t calls) {
    const auto n = static_cast<std::size_t>(calls);
    extremes.assign(5 * n, -INFINITY), reduced.assign(5 * n, 0), sums.assign(n, 0), reduced_sums.assign(n, 0);
    double first_s = 0;
    if (how.round_trip) {
      together();
      operation(call);  // absorbs the skew of the barrier
    }
    if (starts.window) {
      first_s = session_.global_clock.to_global(clock::now()) + 50e-6 + 4 * starts.length_s;
      MPI_Bcast(&first_s, 1, MPI_DOUBLE, 0, all_);
    }
    for (std::size_t i = 0; i < n; ++i) {
      double start, late = 0;
      if (starts.window) {
        const double due = session_.global_clock.to_local(first_s + static_cast<double>(i) * starts.length_s);
        start = clock::wait_until(due);
        late = start - due;
      } else {
        if (!how.round_trip) together();
        start = clock::now();
      }
      operation(call + static_cast<std::int64_t>(i));
      const double end = clock::now();
      if (!how.timed) continue;
      extremes[i] = session_.global_clock.to_global(end);
      extremes[n + i] = -session_.global_clock.to_global(start);
      extremes[2 * n + i] = end - start;
      extremes[3 * n + i] = start - end;
      extremes[4 * n + i] = late;
      sums[i] = end - start;
    }
    call += calls;
    MPI_Reduce(extremes.data(), reduced.data(), static_cast<int>(5 * n), MPI_DOUBLE, MPI_MAX, 0, all_);
    MPI_Reduce(sums.data(), reduced_sums.data(), static_cast<int>(n), MPI_DOUBLE, MPI_SUM, 0, all_);
    long missed = 0;
    if (all_rank_ == 0) {
      for (std::size_t i = 0; i < n; ++i) {
        if (reduced[4 * n + i] > starts.late_s) {
          ++missed;
          continue;
        }
        const double slowest = reduced[2 * n + i];
        time.samples.add((how.round_trip ? slowest : reduced[i] + reduced[n + i]) / how.divisor);
        mean.samples.add(reduced_sums[i] / timed_ranks / how.divisor);
        most.samples.add(slowest / how.divisor);
        least.samples.add(-reduced[3 * n + i] / how.divisor);
      }
    }
    MPI_Bcast(&missed, 1, MPI_LONG, 0, all_);
    starts.missed += missed;
    // Windows too short are widened; where that does not help, the barrier starts the calls.
    if (4 * missed > calls) {
      starts.length_s *= 2, starts.late_s *= 1.5;
      if (++starts.widened > Starts::most_widenings) starts.window = false;
    }
  };

  if (fixed) {
    // Missed windows are repeated; a bound on the repeats keeps a hopeless case finite.
    for (std::int64_t taken = 0, rounds = 0; taken < iterations_ && rounds < 1000; ++rounds) {
      take(std::min<std::int64_t>(iterations_ - taken, 256));
      taken = static_cast<std::int64_t>(time.samples.count());
      MPI_Bcast(&taken, 1, MPI_INT64_T, 0, all_);
    }
    result_.stopped_by = "fixed";
  } else {
    sample_until_stopped(starts.length_s, time, take);
    // A machine too busy to start any call together in time still gets an answer.
    int missed_all = starts.window && starts.missed > 0 && time.samples.count() == 0;
    MPI_Bcast(&missed_all, 1, MPI_INT, 0, all_);
    if (missed_all) {
      starts.window = false;
      sample_until_stopped(starts.length_s, time, take);
    }
  }
  result_.sync = how.round_trip ? "back-to-back" : starts.window ? "window" : "barrier";
  if (sync == "window" && !how.round_trip) result_.missed_windows = starts.missed;
  result_.batch = 1;
  finish(operation);
}

void Trial::overlapped(Start start) {
  const std::int64_t tests = integer("progress");
  if (tests < 0) throw UsageError("progress=" + std::to_string(tests) + " is negative");
  if (result_.mode == "pallas2") throw Skip("Pallas 2.2.1 had no non-blocking collectives: give mode=fixed");
  const Operation operation = [&](std::int64_t call) {
    MPI_Request request = start(call);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  };
  begin(operation);
  Metric& pure = add_metric("time", "s", "lower", true);
  Metric& compute = add_metric("time_compute", "s", "lower", true);
  Metric& both = add_metric("time_overlapped", "s", "lower", true);
  Metric& overlap = add_metric("overlap", "%", "higher", true);

  // The computation is made as long as the communication (IMB's NBC convention).
  constexpr std::int64_t probe_steps = 20'000;
  double step_s = 1, call_s = 1;
  for (int i = 0; i < 5; ++i) {
    const double begun = clock::now();
    burn(probe_steps);
    step_s = std::min(step_s, (clock::now() - begun) / probe_steps);
    together();
    const double started = clock::now();
    operation(i);
    call_s = std::min(call_s, worst(clock::now() - started));
  }
  const auto steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(call_s / worst(step_s)));

  std::int64_t call = 5;
  std::vector<double> mine, most;
  const auto take = [&](std::int64_t samples) {
    mine.assign(3 * samples, 0), most.assign(3 * samples, 0);
    for (std::int64_t i = 0; i < samples; ++i, ++call) {
      together();
      double begun = clock::now();
      operation(call);
      mine[3 * i] = clock::now() - begun;

      begun = clock::now();
      burn(steps);
      mine[3 * i + 1] = clock::now() - begun;

      together();
      begun = clock::now();
      MPI_Request request = start(call);
      for (std::int64_t test = 0; test < tests; ++test) {
        int done;
        burn(steps / (tests + 1));
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      }
      burn(steps - tests * (steps / (tests + 1)));
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      mine[3 * i + 2] = clock::now() - begun;
    }
    MPI_Reduce(mine.data(), most.data(), static_cast<int>(3 * samples), MPI_DOUBLE, MPI_MAX, 0, all_);
    if (all_rank_ != 0) return;
    for (std::int64_t i = 0; i < samples; ++i) {
      const double p = most[3 * i], c = most[3 * i + 1], b = most[3 * i + 2];
      pure.samples.add(p), compute.samples.add(c), both.samples.add(b);
      overlap.samples.add(100 * std::clamp((p + c - b) / std::max(p, c), 0.0, 1.0));
    }
  };
  if (result_.mode == "adaptive") {
    sample_until_stopped(3 * call_s, pure, take);
  } else {
    for (std::int64_t taken = 0; taken < iterations_; taken += 256) take(std::min<std::int64_t>(iterations_ - taken, 256));
    result_.stopped_by = "fixed";
  }
  result_.sync = "barrier";
  result_.batch = 1;
  finish(operation);
}

}  // namespace kiviat
