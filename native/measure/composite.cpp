// Studies: benchmarks with a procedure of their own that derives metrics from many measurements.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "measure/payload.hpp"
#include "measure/trial.hpp"
#include "platform/node.hpp"
#include "support/failure.hpp"

namespace kiviat {

void Trial::study(const std::function<void()>& procedure) {
  if (result_.mode == "pallas2")
    throw Skip("mode=pallas2 does not apply to " + benchmark_.name + ", which has its own loops; leave it out");
  refuse_missing_memory();
  // Reserves memory, because references to elements are handed out.
  result_.metrics.reserve(benchmark_.traits.reports.size());
  result_.tables.reserve(16);
  result_.check_reason = "no payload";
  result_.stopped_by = "fixed";
  result_.sync = "barrier";
  for (const Quantity& quantity : benchmark_.traits.reports)
    add_metric(quantity.name, quantity.unit.c_str(), quantity.better.c_str(), false);
  procedure();
  for (const auto& [payload, operation] : again_) {
    payload_ = payload;
    verify(operation);
    progressed(1);  // checks of long messages on slow networks take long, too
  }
  // A metric that is unavailable on this machine or with this number of ranks is left out; it is not 0.
  std::erase_if(result_.metrics, [](const Metric& metric) { return metric.samples.count() == 0; });
  const bool nothing = result_.metrics.empty();
  if (kernels_) kernels_->finish(result_);
  if (result_.check == "failed") {
    result_.outcome = "failed", result_.phase = "check", result_.reason = result_.check_reason;
  } else if (all_rank_ == 0 && nothing) {
    result_.outcome = "failed", result_.phase = "timing", result_.reason = "the benchmark reported no value";
  }
  result_.elapsed_s = clock::now() - started_s_;
}

void Trial::report(std::string_view quantity, double value) {
  const auto found = std::ranges::find(result_.metrics, quantity, &Metric::name);
  if (found == result_.metrics.end())
    throw std::logic_error(benchmark_.name + " reports '" + std::string(quantity) + "', which it does not declare");
  if (all_rank_ == 0 && std::isfinite(value)) found->samples.add(value);
}

Table& Trial::table(std::string name, std::string unit, std::string better, std::vector<Table::Axis> axes) {
  return result_.tables.emplace_back(std::move(name), std::move(unit), std::move(better), std::move(axes));
}

bool Trial::verify(const Operation& operation) {
  if (!host::carries_payload()) {
    result_.check_reason = payload::not_moved;
    return true;
  }
  return judged(payload_arrives(operation));
}

bool Trial::confirm(bool good, const std::string& reason) {
  if (!host::carries_payload()) {
    result_.check_reason = payload::not_moved;
    return true;
  }
  return judged(all_agree(good ? "" : "rank " + std::to_string(all_rank_) + ": " + reason));
}

bool Trial::judged(bool good) {
  if (!good) {
    result_.check = "failed";
  } else if (result_.check != "failed") {
    result_.check = "passed", result_.check_reason.reset();
  }
  return good;
}

bool Trial::verify_twice(Operation operation) {
  const bool good = verify(operation);
  if (good && host::carries_payload()) again_.emplace_back(payload_, std::move(operation));
  return good;
}

double Trial::seconds_of(std::int64_t calls, const Operation& operation, bool idle) {
  together();
  const double start_s = clock::now();
  for (std::int64_t call = 0; call < calls; ++call) operation(call);
  const double taken_s = clock::now() - start_s;
  together(idle);
  return worst(taken_s);
}

double Trial::measured(std::string_view kernel, const std::function<void()>& work, bool idle, Repetition repetition) {
  if (!kernels_)
    kernels_ = std::make_unique<KernelLog>(members_, session_.instruments, energy::parse_watts(spec_.text("watts", "")),
                                           spec_.text("pages", "huge"));
  kernels_->before(kernel);
  together();
  kernels_->count();
  const double start_s = clock::now();
  work();
  const double taken_s = clock::now() - start_s;
  kernels_->stop_counting();
  together(idle);
  const double slowest_s = worst(taken_s);
  kernels_->after(slowest_s, idle, repetition == Repetition::next);
  return slowest_s;
}

std::int64_t Trial::calls_lasting(double seconds, std::int64_t most, const Operation& operation, bool idle) {
  if (deterministic()) {
    if (const int settling = host::settling_calls()) seconds_of(settling, operation, idle);
    return host::averaged_calls();
  }
  for (std::int64_t calls = 1;;) {
    const double taken_s = seconds_of(calls, operation, idle);
    if (taken_s >= seconds / 2 || calls >= most)
      return std::clamp<std::int64_t>(std::llround(static_cast<double>(calls) * seconds / taken_s), 1, most);
    calls = std::min(most, std::max(2 * calls, static_cast<std::int64_t>(static_cast<double>(calls) *
                                                                         std::min(16.0, 0.8 * seconds / taken_s))));
  }
}

void Trial::progressed(double share) const {
  if (all_rank_ == 0 && session_.on_progress) session_.on_progress(share);
}

}  // namespace kiviat
