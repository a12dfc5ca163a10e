// Reads numeric axes of studies, with bounds; also the median.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "measure/trial.hpp"
#include "results/statistics.hpp"
#include "support/failure.hpp"

namespace kiviat {

inline std::int64_t bounded(const Trial& t, const std::string& axis, std::int64_t least, std::int64_t most) {
  const std::int64_t value = t.integer(axis);
  if (value < least || value > most)
    throw UsageError(axis + "=" + std::to_string(value) + ": give " + std::to_string(least) + " to " +
                     std::to_string(most));
  return value;
}

// Value of an axis in milliseconds, converted to seconds.
inline double seconds_of_axis(const Trial& t, const std::string& axis) {
  return 1e-3 * static_cast<double>(bounded(t, axis, 1, 60'000));
}

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return quantile(values, 0.5);
}

// Latency is measured with short messages, bandwidth with long ones.
inline constexpr std::int64_t short_bytes = 8;
inline std::int64_t long_bytes(const Trial& t) { return bounded(t, "long", short_bytes, 1'000'000'000); }
inline Axis long_axis(std::string bytes) { return {"long", std::move(bytes), "B", "message size for the bandwidth"}; }

}  // namespace kiviat
