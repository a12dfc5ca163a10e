// STREAM loops with different kinds of stores. Non-temporal stores bypass the caches and avoid reading the overwritten
// line: a triad then moves three words per element instead of four; STREAM counts three in both cases (J. McCalpin,
// "Memory bandwidth and machine balance in current high performance computers", 1995).
#pragma once

#include <cstddef>
#include <vector>

namespace kiviat {

struct StreamKernels {
  const char* stores;  // name of the kind of stores
  // Loops over `count` elements, a multiple of 8. All arrays begin at a multiple of 64 bytes.
  void (*copy)(double* to, const double* from, std::size_t count);
  void (*scale)(double* to, const double* from, double factor, std::size_t count);
  void (*add)(double* to, const double* one, const double* other, std::size_t count);
  void (*triad)(double* to, const double* one, const double* other, double factor, std::size_t count);
};

// The variants supported by this processor, ordinary stores first.
std::vector<StreamKernels> stream_kernels();

}  // namespace kiviat
