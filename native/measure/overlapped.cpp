// Times non-blocking operations: the operation alone, computation alone, and both together.
#include <algorithm>
#include <cmath>

#include "measure/trial.hpp"
#include "platform/compute.hpp"
#include "support/failure.hpp"

namespace kiviat {

void Trial::overlapped(Start start) {
  const std::int64_t tests = integer("progress");
  if (result_.mode == "pallas2")
    throw Skip("mode=pallas2 is not available: Pallas 2.2.1 had no non-blocking collectives; give mode=fixed");
  const Operation operation = [&](std::int64_t call) {
    MPI_Request request = start(call);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  };
  begin(operation);
  Metric& pure = add_metric("time", "s", "lower", true);
  Metric& compute = add_metric("time_compute", "s", "lower", true);
  Metric& both = add_metric("time_overlapped", "s", "lower", true);
  // SMPI's collectives progress without a processor, so a simulated overlap would always be complete.
  Metric* overlap = deterministic() ? nullptr : &add_metric("overlap", "%", "higher", true);
  if (!overlap) note("overlap", "unavailable: the simulator progresses messages without a processor");

  // The computation takes as long as the communication, as in IMB-NBC.
  constexpr std::int64_t probe_steps = 20'000;
  double step_s = INFINITY, call_s = INFINITY;
  const int probes = deterministic() ? 1 : 5;
  for (int i = 0; i < probes; ++i) {
    const double begun = clock::now();
    burn(probe_steps);
    step_s = std::min(step_s, (clock::now() - begun) / probe_steps);
    together();
    const double started = clock::now();
    operation(i);
    call_s = std::min(call_s, worst(clock::now() - started));
  }
  const auto steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(call_s / worst(step_s)));

  std::int64_t call = probes;
  std::vector<double> mine, most, alone;
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
    alone.clear();
    for (std::int64_t i = 0; i < samples; ++i) alone.push_back(mine[3 * i]);
    add_group_times(alone, std::vector<bool>(alone.size(), true), 1);
    if (all_rank_ != 0) return;
    for (std::int64_t i = 0; i < samples; ++i) {
      const double p = most[3 * i], c = most[3 * i + 1], b = most[3 * i + 2];
      pure.samples.add(p), compute.samples.add(c), both.samples.add(b);
      if (overlap) overlap->samples.add(100 * std::clamp((p + c - b) / std::max(p, c), 0.0, 1.0));
    }
  };
  if (result_.mode == "adaptive") {
    sample_until_stopped(3 * call_s, pure, take);
  } else if (deterministic()) {
    take(1);
    result_.stopped_by = "fixed";
  } else {
    for (std::int64_t taken = 0; taken < iterations_; taken += 256)
      take(std::min<std::int64_t>(iterations_ - taken, 256));
    result_.stopped_by = "fixed";
  }
  result_.sync = "barrier";
  result_.batch = 1;
  finish(operation);
}

}  // namespace kiviat
