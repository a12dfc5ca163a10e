// Processors that this process may use.
#pragma once

#include <sched.h>

#include <array>
#include <cstddef>

namespace kiviat::host {

constexpr int most_processors = 4096;
constexpr std::size_t mask_words = most_processors / 64;
using Mask = std::array<unsigned long, mask_words>;

inline Mask processors_of_this_rank() {
  Mask mask{};
  sched_getaffinity(0, sizeof mask, reinterpret_cast<cpu_set_t*>(mask.data()));
  return mask;
}

inline bool allowed(const Mask& mask, int processor) { return mask[processor / 64] >> (processor % 64) & 1; }

}  // namespace kiviat::host
