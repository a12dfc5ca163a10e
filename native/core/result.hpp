// The outcome of a case: metrics with their samples, the verdict of the payload check, why it ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/statistics.hpp"

namespace kiviat {

struct Metric {
  std::string name, unit, better;
  bool per_call = false;  // each sample is one call, so that percentiles mean something
  Reservoir samples;
  // A derived metric is numerator / the metric named `from`, and has no samples of its own.
  std::string from = {};
  double numerator = 0;
};

struct Summary {
  std::size_t count = 0;
  std::optional<double> mean, min, max, p50, p90, p99, ci_low, ci_high;
};

struct Result {
  std::vector<Metric> metrics;
  std::string mode = "adaptive", sync = "batched", outcome = "ok", check = "not run";
  std::optional<std::string> phase, reason, check_reason, stopped_by;
  std::optional<long> batch, missed_windows;
  double clock_cost_s = 0, elapsed_s = 0;

  const Metric* metric(std::string_view name) const;
  Summary summary(const Metric& metric) const;
  std::string metrics_json(bool with_samples) const;
};

}  // namespace kiviat
