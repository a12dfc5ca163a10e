#include "kernels/dot.hpp"

#include "kernels/target_clones.hpp"

namespace kiviat {

KIVIAT_EVERY_WIDTH double dot(const double* a, const double* b, std::int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace kiviat
