// Computation: what a kernel costs, and how it is run on a machine that is there or on one that is modelled.
#pragma once

#include <cstdint>
#include <functional>

namespace kiviat {

// Cost of a kernel on one rank.
struct Cost {
  double flops = 0;
  double bytes = 0;  // to and from memory
};

namespace work {

// A kernel whose results decide who sends what to whom runs everywhere; others need not run where only time is wanted.
enum class Kernel { skippable, needed };

// On a machine that is there this is kernel(). On a modelled one time passes as the model says for `cost`.
void run(const Cost& cost, const std::function<void()>& kernel, Kernel kind = Kernel::skippable);

}  // namespace work

// To put beside communication: dependent multiply-adds in registers, so that it takes time from the core and
// nothing from memory or network.
double burn(std::int64_t steps, double x = 1.0);

}  // namespace kiviat
