// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): seeded, equal on every machine.
#pragma once

#include <cstdint>

namespace kiviat {

inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

inline std::uint64_t next_random(unsigned long long& state) { return mix(state += 0x9e3779b97f4a7c15ull); }

}  // namespace kiviat
