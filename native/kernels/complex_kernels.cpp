#include "kernels/complex_kernels.hpp"

#include "kernels/target_clones.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace kiviat {
namespace {

using Pair = double __attribute__((vector_size(16)));

[[gnu::always_inline]] inline Pair load(const Complex* from) {
  Pair pair;
  __builtin_memcpy(&pair, from, sizeof pair);
  return pair;
}

template <Reuse reuse>
[[gnu::always_inline]] inline void store(Complex* to, Pair value) {
#if defined(__SSE2__)
  if constexpr (reuse == Reuse::late) {
    _mm_stream_pd(reinterpret_cast<double*>(to), value);
    return;
  }
#endif
  __builtin_memcpy(static_cast<void*>(to), &value, sizeof value);
}

[[gnu::always_inline]] inline Pair product(Pair a, Pair b) {
  const Pair real = {b[0], b[0]}, imaginary = {-b[1], b[1]}, swapped = {a[1], a[0]};
  return a * real + swapped * imaginary;
}

template <Reuse reuse>
[[gnu::always_inline]] inline void copy(Complex* to, const Complex* from, const Runs& what, std::int64_t ahead) {
  constexpr std::int64_t line = 4;  // complex numbers per cache line
  for (std::int64_t run = 0; run < what.runs; ++run, to += what.to_distance, from += what.from_distance) {
    for (std::int64_t i = 0; i < what.length; i += line) __builtin_prefetch(from + ahead + i);
    for (std::int64_t i = 0; i < what.length; ++i) store<reuse>(to + i, load(from + i));
  }
}

template <Reuse reuse>
[[gnu::always_inline]] inline void turned(Complex* __restrict to, std::int64_t to_line, const Complex* __restrict from,
                                          std::int64_t from_line, std::int64_t count, std::int64_t rows) {
  for (std::int64_t i = 0; i < count; ++i, to += to_line, ++from)
    for (std::int64_t r = 0; r < rows; ++r) store<reuse>(to + r, load(from + r * from_line));
}

template <Reuse reuse>
[[gnu::always_inline]] inline void turned_times(Complex* __restrict to, const Complex* __restrict from,
                                                std::int64_t from_line, std::int64_t count, std::int64_t rows,
                                                const Complex* __restrict coarse, const Complex* __restrict fine,
                                                std::int64_t fine_line) {
  for (std::int64_t i = 0; i < count; ++i, to += rows, ++from, fine += fine_line) {
    const Pair factor = load(coarse + i);
    for (std::int64_t r = 0; r < rows; ++r)
      store<reuse>(to + r, product(load(from + r * from_line), product(load(fine + r), factor)));
  }
}

}  // namespace

KIVIAT_UP_TO_AVX2
void copy_runs(Complex* to, const Complex* from, const Runs& what, Reuse reuse, const Complex* next) {
  const std::int64_t ahead = next ? next - from : 8 * what.from_distance;
  if (reuse == Reuse::late)
    copy<Reuse::late>(to, from, what, ahead);
  else
    copy<Reuse::soon>(to, from, what, ahead);
}

KIVIAT_UP_TO_AVX2
void turn(Complex* to, std::int64_t to_line, const Complex* from, std::int64_t from_line, std::int64_t count,
          std::int64_t rows, Reuse reuse) {
  if (reuse == Reuse::late)
    turned<Reuse::late>(to, to_line, from, from_line, count, rows);
  else
    turned<Reuse::soon>(to, to_line, from, from_line, count, rows);
}

KIVIAT_UP_TO_AVX2
void turn_times(Complex* to, const Complex* from, std::int64_t from_line, std::int64_t count, std::int64_t rows,
                const Complex* coarse, const Complex* fine, std::int64_t fine_line, Reuse reuse) {
  if (reuse == Reuse::late)
    turned_times<Reuse::late>(to, from, from_line, count, rows, coarse, fine, fine_line);
  else
    turned_times<Reuse::soon>(to, from, from_line, count, rows, coarse, fine, fine_line);
}

void all_written() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace kiviat
