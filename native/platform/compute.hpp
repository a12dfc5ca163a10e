// Computation of benchmarks, on real or simulated machines.
#pragma once

#include <cstdint>
#include <functional>

namespace kiviat {

// Cost of a kernel on one rank.
struct Cost {
  double flops = 0;  // floating-point operations
  double bytes = 0;  // memory traffic, reads and writes
};

namespace work {

// A `needed` kernel also runs in simulations without payload, because its results determine messages. A `skippable` one
// only takes simulated time there.
enum class Kernel { skippable, needed };

// Runs `kernel` on real machines and ignores `cost`. On simulated machines, lets the simulated time of `cost` pass, and
// runs `kernel` only if it is needed or messages carry payload.
void run(const Cost& cost, const std::function<void()>& kernel, Kernel kind = Kernel::skippable);

}  // namespace work

// Computation to overlap with communication: `steps` dependent multiply-adds in registers, without memory traffic.
// Returns the result, so that it cannot be optimised away.
double burn(std::int64_t steps, double x = 1.0);

}  // namespace kiviat
