#pragma once

#include <cstdint>

namespace kiviat {

// Returns the sum of a[i] * b[i].
double dot(const double* a, const double* b, std::int64_t count);

}  // namespace kiviat
