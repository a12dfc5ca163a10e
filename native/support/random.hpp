// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): reproducible on every
// machine.
#pragma once

#include <cstdint>

namespace kiviat {

inline constexpr std::uint64_t random_step = 0x9e3779b97f4a7c15ull;

constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

inline std::uint64_t next_random(unsigned long long& state) { return mix(state += random_step); }

// Number `index` of the stream with this seed, without generating its predecessors.
constexpr std::uint64_t random_at(std::uint64_t seed, std::uint64_t index) {
  return mix(seed + (index + 1) * random_step);
}

// Maps a random word to a uniform number in [-0.5, 0.5).
constexpr double centred(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53 - 0.5; }

}  // namespace kiviat
