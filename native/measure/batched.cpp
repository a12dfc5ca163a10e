// Times loops of calls between two readings of the clock: for point-to-point benchmarks, and for collectives as Pallas
// 2.2.1 timed them.
#include <algorithm>

#include "measure/trial.hpp"
#include "platform/node.hpp"

namespace kiviat {

void Trial::batched_loops(const Loop& loop, const Batch& how) {
  const Operation once = [&](std::int64_t call) { loop(call, 1); };
  const Operation& checked = how.check ? how.check : once;
  begin(checked);
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
    together();  // finished ranks send nothing while others still measure
    MPI_Reduce(mine.data(), most.data(), static_cast<int>(samples), MPI_DOUBLE, MPI_MAX, 0, all_);
    if (all_rank_ == 0)
      for (const double seconds : most) time.samples.add(seconds / static_cast<double>(calls) / how.divisor);
    add_group_times(mine, std::vector<bool>(mine.size(), true), static_cast<double>(calls) * how.divisor);
  };

  const auto barrier_s = [&] {
    constexpr int barriers = 4;
    together();
    const double start = clock::now();
    for (int i = 0; i < barriers; ++i) together();
    return worst((clock::now() - start) / barriers);
  };

  std::int64_t calls;
  if (result_.mode == "adaptive") {
    // A batch lasts so long that two readings of the clock cost less than 1 % of it. The search for its length also
    // serves as warm-up.
    // Without an initiator, ranks begin a batch as late as the barrier lets them go; on a slow network that is the time
    // of a message, which a batch of a single call would report on top of its own.
    const double apart_s = how.initiator ? 0 : barrier_s(),
                 batch_s =
                     std::max({400 * session_.clock_cost_s, how.least_s, std::min(50 * apart_s, limits_.budget_s / 8)}),
                 warm_s = std::min(1e-3, limits_.budget_s / 100);
    double total_s = 0;
    // A preempted rank makes any batch look long, so the batch must be long enough twice in a row.
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
      if (!long_enough)
        calls = std::max(calls + 1,
                         static_cast<std::int64_t>(calls * std::min(8.0, 1.2 * batch_s / std::max(seconds, 1e-9))));
    }
  } else if (deterministic()) {
    calls = host::averaged_calls();
    if (const int settling = host::settling_calls()) loop(0, settling);
    together();
    const double mine_s = elapsed(calls), seconds = worst(mine_s), divisor = static_cast<double>(calls) * how.divisor;
    if (all_rank_ == 0) time.samples.add(seconds / divisor);
    add_group_times({&mine_s, 1}, {true}, divisor);
    result_.stopped_by = "fixed";
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
  finish(checked);
}

}  // namespace kiviat
