// Stopping rules of sampling.
#pragma once

#include <cstddef>
#include <optional>

#include "results/statistics.hpp"

namespace kiviat {

struct Limits {
  double target = 0.02;   // relative half width of the 95 % interval of the median
  double budget_s = 1.0;  // wall time of the timed part of a case, in seconds
  std::size_t min_samples = 16, max_samples = 1000;
};

// Reason to stop sampling: "target", "budget" or "samples"; nothing if more samples are needed. `elapsed_s` is the time
// since sampling began.
std::optional<const char*> stop_reason(const Limits& limits, const Reservoir& samples, double elapsed_s);

// Number of samples to take before stop_reason() is evaluated again. It grows with the number `taken`, and samples that
// last `sample_s` seconds are not taken in blocks shorter than the time between two blocks, so that the evaluation
// costs little; it is limited by the rest of the budget and by max_samples.
std::size_t next_block(const Limits& limits, std::size_t taken, double sample_s, double elapsed_s);

}  // namespace kiviat
