// When a case has been measured enough.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace kiviat {

struct Limits {
  double target = 0.02;   // half width of the 95 % interval of the median, relative
  double budget_s = 1.0;  // wall time of the timed part of a case
  std::size_t min_samples = 16, max_samples = 1000;
};

// "target", "budget" or "samples" once the case may end; nothing while it should go on.
std::optional<const char*> stop_reason(const Limits& limits, std::span<const double> samples, double elapsed_s);

// Samples to take before asking again: grows with those taken, so that asking costs little, and
// shrinks so that one block neither overshoots the budget by far nor passes max_samples.
std::size_t next_block(const Limits& limits, std::size_t taken, double sample_s, double elapsed_s);

}  // namespace kiviat
