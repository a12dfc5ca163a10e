// Dense linear algebra by the machine's BLAS, loaded at run time: OpenBLAS, BLIS, MKL, Accelerate or another (Dongarra,
// Du Croz, Hammarling, Duff, "A set of level 3 basic linear algebra subprograms", TOMS 16, 1990).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace kiviat {

// Matrices are column-major; `ld...` is the distance between columns in elements.
struct Blas {
  std::string name;  // with version and the processor type that the library detected
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

// Loads the library named by KIVIAT_BLAS (a path), else the first of OpenBLAS, BLIS, MKL, Accelerate, libblas. It stays
// loaded. Throws Skip, with installation advice, if there is none.
Blas find_blas();

// Returns the OpenBLAS core type that suits a processor with these `flags` (of /proc/cpuinfo) better than the chosen
// `core`; empty if the choice is good. OpenBLAS releases older than a processor may mistake it for a much older one.
std::string better_core(const std::string& core, const std::string& flags);

}  // namespace kiviat
