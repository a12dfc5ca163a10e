// Axes that several studies have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "measure/trial.hpp"
#include "results/statistics.hpp"
#include "support/failure.hpp"  // what studies throw

namespace kiviat {

// Value of an axis in milliseconds, converted to seconds.
inline double seconds_of_axis(const Trial& t, const std::string& axis) {
  return 1e-3 * static_cast<double>(t.integer(axis));
}
inline constexpr Bounds milliseconds_bounds{1, 60'000};

// Value of an axis that is a number, or `automatic` if it is `auto`.
inline std::int64_t integer_or(const Trial& t, const std::string& axis, std::int64_t automatic) {
  return t.text(axis) == "auto" ? automatic : t.integer(axis);
}

// Latency is measured with short messages, bandwidth with long ones.
inline constexpr std::int64_t short_bytes = 8;
inline Axis long_axis(std::string bytes) {
  return {"long", std::move(bytes), "B", "message size for the bandwidth", Bounds{short_bytes, 1'000'000'000}};
}

}  // namespace kiviat
