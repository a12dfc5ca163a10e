// Computation to put beside communication: dependent multiply-adds in registers, so that it takes
// time from the core and nothing from memory or network.
#pragma once

#include <cstdint>

namespace kiviat {

inline double burn(std::int64_t steps, double x = 1.0) {
  for (std::int64_t i = 0; i < steps; ++i) {
    x = x * 0.999999 + 1e-6;
    asm volatile("" : "+x"(x));
  }
  return x;
}

}  // namespace kiviat
