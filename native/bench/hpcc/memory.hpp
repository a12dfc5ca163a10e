// How much memory a kernel takes on each rank.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "bench/pattern/settings.hpp"
#include "core/huge_pages.hpp"

namespace kiviat {

inline Axis memory_axis() {
  return {"memory", "auto", "B", "memory that the problem takes on each rank; auto: half of what is available to it, on simulated machines 4 MiB; auto:BYTES: likewise, but at most so much"};
}

// Bytes on each rank, equal on all of them. Collective.
inline std::int64_t memory_of(const Trial& t) {
  constexpr std::int64_t least = 1 << 10, of_simulated = 4 << 20;
  const std::string asked = t.text("memory");
  if (!asked.starts_with("auto")) {
    const std::int64_t bytes = bounded(t, "memory", least, std::int64_t{1} << 50);
    const double share = -t.worst(-static_cast<double>(t.session().memory_share_bytes));
    if (host::carries_payload() && static_cast<double>(bytes) > share)
      throw Skip("memory=" + std::to_string(bytes) + " per rank is more than the " + std::to_string(std::llround(share)) + " B available to each");
    return bytes;
  }
  std::int64_t most = std::int64_t{1} << 50;
  if (asked != "auto") {
    if (asked[4] == ':') most = to_integer(std::string_view(asked).substr(5), "memory=auto");
    if (asked[4] != ':' || most < least) throw UsageError("memory=" + asked + ": give bytes, auto, or auto:BYTES with at least " + std::to_string(least));
  }
  if (t.deterministic()) return std::min(most, of_simulated);
  return std::min(most, static_cast<std::int64_t>(-t.worst(-static_cast<double>(t.session().memory_share_bytes)) / 2));
}

// Memory of so many bytes for this rank's part of the problem; Skip on all ranks alike if one does not get it. Collective.
inline HugePages pages_of(const Trial& t, std::size_t bytes) {
  HugePages pages(bytes);
  if (t.worst(pages ? 0 : static_cast<double>(bytes)) > 0) throw Skip(std::to_string(bytes) + " B per rank could not be had: give less memory");
  return pages;
}

// An axis whose value is a number within bounds, or `auto`, for which `automatic` stands.
inline std::int64_t bounded_or_auto(const Trial& t, const std::string& axis, std::int64_t least, std::int64_t most, std::int64_t automatic) {
  return t.text(axis) == "auto" ? automatic : bounded(t, axis, least, most);
}

}  // namespace kiviat
