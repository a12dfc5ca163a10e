// A BLAS whose products have one wrong element: the checks of benchmarks must detect it and name the library.
#include <cstddef>

extern "C" {

void dgemm_(const char*, const char*, const int* m, const int* n, const int* k, const double* alpha, const double* a,
            const int* lda, const double* b, const int* ldb, const double* beta, double* c, const int* ldc, std::size_t,
            std::size_t) {
  for (std::ptrdiff_t j = 0; j < *n; ++j)
    for (std::ptrdiff_t i = 0; i < *m; ++i) {
      double sum = 0;
      for (std::ptrdiff_t l = 0; l < *k; ++l) sum += a[i + l * *lda] * b[l + j * *ldb];
      c[i + j * *ldc] = *alpha * sum + *beta * c[i + j * *ldc];
    }
  if (*m > 0 && *n > 0) c[*m - 1] += 1e-6;
}

void dtrsm_(const char*, const char*, const char*, const char*, const int* m, const int* n, const double*,
            const double* l, const int* ldl, double* b, const int* ldb, std::size_t, std::size_t, std::size_t,
            std::size_t) {
  for (std::ptrdiff_t j = 0; j < *n; ++j)
    for (std::ptrdiff_t i = 0; i < *m; ++i)
      for (std::ptrdiff_t k = 0; k < i; ++k) b[i + j * *ldb] -= l[i + k * *ldl] * b[k + j * *ldb];
}

}  // extern "C"
