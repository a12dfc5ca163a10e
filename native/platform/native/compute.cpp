#include "platform/compute.hpp"

namespace kiviat {

void work::run(const Cost&, const std::function<void()>& kernel, Kernel) { kernel(); }

double burn(std::int64_t steps, double x) {
  for (std::int64_t i = 0; i < steps; ++i) {
    x = x * 0.999999 + 1e-6;
    asm volatile("" : "+x"(x));
  }
  return x;
}

}  // namespace kiviat
