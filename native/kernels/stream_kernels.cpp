#include "kernels/stream_kernels.hpp"

#if defined __x86_64__
#include <immintrin.h>
#endif

namespace kiviat {
namespace {

// Generic vectors, which the compiler supports on every processor.
void plain_copy(double* __restrict to, const double* __restrict from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
}
void plain_scale(double* __restrict to, const double* __restrict from, double factor, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = factor * from[i];
}
void plain_add(double* __restrict to, const double* __restrict one, const double* __restrict other, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = one[i] + other[i];
}
void plain_triad(double* __restrict to, const double* __restrict one, const double* __restrict other, double factor,
                 std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = one[i] + factor * other[i];
}

#if defined __x86_64__

// Non-temporal stores of whole cache lines, so that the processor does not read the line first.
#define KIVIAT_STREAM(name, isa, vector, width, prefix)                                                              \
  __attribute__((target(isa))) void name##_copy(double* to, const double* from, std::size_t count) {                 \
    for (std::size_t i = 0; i < count; i += 8)                                                                       \
      for (std::size_t j = i; j < i + 8; j += width) prefix##_stream_pd(to + j, prefix##_load_pd(from + j));         \
    _mm_sfence();                                                                                                    \
  }                                                                                                                  \
  __attribute__((target(isa))) void name##_scale(double* to, const double* from, double factor, std::size_t count) { \
    const vector f = prefix##_set1_pd(factor);                                                                       \
    for (std::size_t i = 0; i < count; i += 8)                                                                       \
      for (std::size_t j = i; j < i + 8; j += width)                                                                 \
        prefix##_stream_pd(to + j, prefix##_mul_pd(f, prefix##_load_pd(from + j)));                                  \
    _mm_sfence();                                                                                                    \
  }                                                                                                                  \
  __attribute__((target(isa))) void name##_add(double* to, const double* one, const double* other,                   \
                                               std::size_t count) {                                                  \
    for (std::size_t i = 0; i < count; i += 8)                                                                       \
      for (std::size_t j = i; j < i + 8; j += width)                                                                 \
        prefix##_stream_pd(to + j, prefix##_add_pd(prefix##_load_pd(one + j), prefix##_load_pd(other + j)));         \
    _mm_sfence();                                                                                                    \
  }                                                                                                                  \
  __attribute__((target(isa))) void name##_triad(double* to, const double* one, const double* other, double factor,  \
                                                 std::size_t count) {                                                \
    const vector f = prefix##_set1_pd(factor);                                                                       \
    for (std::size_t i = 0; i < count; i += 8)                                                                       \
      for (std::size_t j = i; j < i + 8; j += width)                                                                 \
        prefix##_stream_pd(                                                                                          \
            to + j, prefix##_add_pd(prefix##_load_pd(one + j), prefix##_mul_pd(f, prefix##_load_pd(other + j))));    \
    _mm_sfence();                                                                                                    \
  }

KIVIAT_STREAM(sse2, "sse2", __m128d, 2, _mm)
KIVIAT_STREAM(avx, "avx", __m256d, 4, _mm256)
KIVIAT_STREAM(avx512, "avx512f", __m512d, 8, _mm512)
#undef KIVIAT_STREAM

#endif

}  // namespace

std::vector<StreamKernels> stream_kernels() {
  std::vector<StreamKernels> all = {{"plain", plain_copy, plain_scale, plain_add, plain_triad}};
#if defined __x86_64__
  all.push_back({"non-temporal SSE2", sse2_copy, sse2_scale, sse2_add, sse2_triad});
  if (__builtin_cpu_supports("avx")) all.push_back({"non-temporal AVX", avx_copy, avx_scale, avx_add, avx_triad});
  if (__builtin_cpu_supports("avx512f"))
    all.push_back({"non-temporal AVX-512", avx512_copy, avx512_scale, avx512_add, avx512_triad});
#endif
  return all;
}

}  // namespace kiviat
