// Dense linear algebra by a BLAS of the machine, found where the program runs: OpenBLAS, BLIS, MKL, Accelerate or
// whatever there is (Dongarra, Du Croz, Hammarling, Duff, "A set of level 3 basic linear algebra subprograms", TOMS 16,
// 1990).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace kiviat {

// Matrices are column-major; `ld...` is the distance of columns.
struct Blas {
  std::string name;  // with its version, and what it takes the processor for
  std::string path;
  // C <- alpha A B + beta C, where A is m x k and B is k x n.
  std::function<void(std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const double* a, std::int64_t lda,
                     const double* b, std::int64_t ldb, double beta, double* c, std::int64_t ldc)>
      gemm;
  // B <- inverse(L) B, where L is m x m, lower triangular with ones on its diagonal, and B is m x n.
  std::function<void(std::int64_t m, std::int64_t n, const double* l, std::int64_t ldl, double* b, std::int64_t ldb)>
      trsm;
  // Sets the number of the library's own threads; empty if it has no function for that.
  std::function<void(int threads)> set_threads;

  std::string words() const { return name + ", " + path; }
};

// The first that is found: the one that KIVIAT_BLAS names (a path), else OpenBLAS, BLIS, MKL, Accelerate, libblas.
// Throws Skip where there is none, and says what to install. It stays loaded.
Blas find_blas();

// The kernels that OpenBLAS should have for a processor with these `flags` (as /proc/cpuinfo has them) where it chose
// those of `core`; empty if its choice may stand. Releases that are older than a processor take it for a much older
// one.
std::string better_core(const std::string& core, const std::string& flags);

}  // namespace kiviat
