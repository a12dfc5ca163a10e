// Common part of kernels with dense matrices.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/hpcc/agreed.hpp"
#include "bench/memory.hpp"
#include "kernels/blas.hpp"

namespace kiviat {

// Returns the BLAS that all ranks have found, set to `threads` threads per rank. Throws Skip if there is none.
// Collective.
inline Blas agreed_blas(Trial& t, int threads) {
  Blas blas = agreed(t, find_blas);
  if (threads > 1 && t.worst(!blas.set_threads) > 0)
    throw Skip("threads=" + std::to_string(threads) + ": " + (blas.set_threads ? "another rank's BLAS" : blas.words()) +
               " has no function to set its threads: set its environment variable and leave threads out");
  if (blas.set_threads) blas.set_threads(threads);
  // Warm-up: lets the library create its threads and memory.
  constexpr std::int64_t n = 256;
  std::vector<double> matrices(3 * n * n, 1);
  double* const a = matrices.data();
  blas.gemm(n, n, n, 1, a, n, a + n * n, n, 0, a + 2 * n * n, n);
  t.note("blas", blas.words() + (blas.set_threads ? "" : "; nothing sets or tells its number of threads"));
  return blas;
}

}  // namespace kiviat
