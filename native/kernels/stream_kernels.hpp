// STREAM's loops, with stores of several kinds. A store that goes past the caches saves reading what it overwrites: of
// three words that a triad moves a fourth one is not moved (J. McCalpin, "Memory bandwidth and machine balance in
// current high performance computers", 1995, counts it not).
#pragma once

#include <cstddef>
#include <vector>

namespace kiviat {

struct StreamKernels {
  const char* stores;  // what kind
  // Loops over `count` elements, a multiple of 8. All arrays begin at a multiple of 64 bytes.
  void (*copy)(double* to, const double* from, std::size_t count);
  void (*scale)(double* to, const double* from, double factor, std::size_t count);
  void (*add)(double* to, const double* one, const double* other, std::size_t count);
  void (*triad)(double* to, const double* one, const double* other, double factor, std::size_t count);
};

// Those that this processor has, the plain ones first.
std::vector<StreamKernels> stream_kernels();

}  // namespace kiviat
