// Memory that a kernel uses on each rank.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "bench/pattern/settings.hpp"
#include "kernels/huge_pages.hpp"

namespace kiviat {

inline constexpr Bounds memory_bounds{1 << 10, std::int64_t{1} << 50};

inline Axis memory_axis() {
  Axis axis{"memory",
            "auto",
            "B",
            "memory that the problem takes on each rank; auto: half of what is available to it, on simulated machines "
            "4 MiB; auto:BYTES: likewise, but at most so much",
            {"auto", memory_bounds}};
  axis.accepted.limits = true;
  return axis;
}

// Memory in bytes available to the rank that has the least. Collective.
inline double available_to_each(const Trial& t) {
  return -t.worst(-static_cast<double>(t.session().memory_share_bytes));
}

// Throws Skip if `what` needs more memory on a rank (`own_bytes`, which may differ) than is available. Collective.
inline void refuse_more_than_available(const Trial& t, const std::string& what, double own_bytes) {
  if (!host::carries_payload()) return;
  const double bytes = t.worst(own_bytes);
  if (const double share = available_to_each(t); bytes > share)
    throw Skip(what + " needs " + std::to_string(std::llround(bytes)) + " B per rank, but only " +
               std::to_string(std::llround(share)) + " B are available to each; give a smaller problem");
}

// Value of the axis `memory` in bytes, equal on all ranks. Throws UsageError or Skip. Collective.
inline std::int64_t memory_of(const Trial& t) {
  constexpr std::int64_t of_simulated = 4 << 20;
  const std::string asked = t.text("memory");
  if (!asked.starts_with("auto")) {
    const std::int64_t bytes = t.integer("memory");
    refuse_more_than_available(t, "memory=" + std::to_string(bytes), static_cast<double>(bytes));
    return bytes;
  }
  const std::int64_t most =
      asked == "auto" ? memory_bounds.most : to_integer(std::string_view(asked).substr(5), "memory=auto");
  if (t.deterministic()) return std::min(most, of_simulated);
  return std::min(most, static_cast<std::int64_t>(available_to_each(t) / 2));
}

// Allocates `bytes` for this rank's part of the problem and touches them: otherwise the first of a kernel's runs would
// measure page faults, too, which take several times as long as a transform of FFT. Several `threads` must touch them
// themselves, because a page lies in the memory of the socket that touches it first. Throws Skip on all ranks if one
// fails. Collective.
inline HugePages pages_of(const Trial& t, std::size_t bytes, int threads = 1) {
  HugePages pages(bytes);
  if (const double missing = t.worst(pages ? 0 : static_cast<double>(bytes)); missing > 0)
    throw Skip("cannot allocate " + std::to_string(std::llround(missing)) + " B on each rank: give a smaller memory=");
  if (threads == 1) pages.touch();
  return pages;
}

}  // namespace kiviat
