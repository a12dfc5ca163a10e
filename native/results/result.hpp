// Result of a case: outcome, metrics with their samples, tables, and the verdict of the payload check.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/statistics.hpp"

namespace kiviat {

struct Metric {
  std::string name, unit, better;
  bool per_call = false;  // each sample is one call, so that percentiles are meaningful
  Reservoir samples;
  // A derived metric equals `numerator` divided by the metric named `from`, and has no samples of its own.
  std::string from = {};
  double numerator = 0;
};

struct Summary {
  std::size_t count = 0;
  std::optional<double> mean, min, max, p50, p90, p99, ci_low, ci_high;
};

// Table of values over one or more axes, in row-major order; missing values are NaN.
struct Table {
  struct Axis {
    std::string name;
    std::vector<std::string> values;
  };
  std::string name, unit, better;
  std::vector<Axis> axes;
  std::vector<double> values;

  Table(std::string name, std::string unit, std::string better, std::vector<Axis> axes);
  double& at(std::initializer_list<std::size_t> indices);
};

struct Result {
  std::string benchmark;              // its name, even if the case uses an alias
  int ranks = 0;                      // participating ranks
  std::optional<std::int64_t> bytes;  // message size; none if the benchmark has none, or an invalid one is given
  std::vector<Metric> metrics;
  std::vector<Table> tables;
  std::vector<std::pair<std::string, std::string>> notes;  // name and text; names are unique
  std::vector<std::pair<std::string, double>> numbers;     // name and value, see Trial::number
  std::string mode = "adaptive", sync = "batched", outcome = "ok", check = "not run";
  std::optional<std::string> phase, reason, check_reason, stopped_by;
  std::optional<long> batch, missed_windows;
  double clock_cost_s = 0, elapsed_s = 0;
  bool oversubscribed = false;  // ranks, or threads of this case, exceed the number of processors

  const Metric* metric(std::string_view name) const;
  Summary summary(const Metric& metric) const;
  std::string metrics_json(bool with_samples) const;
  std::string tables_json() const;
  std::string notes_json() const;
  std::string numbers_json() const;
  // Sets a note; replaces an earlier one of the same name.
  void note(std::string_view name, std::string words);
  void number(std::string_view name, double value);
};

}  // namespace kiviat
