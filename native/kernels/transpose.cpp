#include "kernels/transpose.hpp"

#if defined __x86_64__
#include <immintrin.h>
#endif

namespace kiviat {
namespace {

constexpr std::size_t tile = 8;  // elements of a cache line, so that each line fetched is used completely

using Tile = void (*)(double* to, std::size_t to_stride, const double* from, std::size_t from_stride);

template <bool add>
void plain_tile(double* to, std::size_t to_stride, const double* from, std::size_t from_stride) {
  for (std::size_t row = 0; row < tile; ++row)
    for (std::size_t column = 0; column < tile; ++column) {
      double& element = to[row * to_stride + column];
      element = (add ? element : 0) + from[column * from_stride + row];
    }
}

#if defined __x86_64__

// Transposes 4 x 4 elements in registers.
template <bool add>
__attribute__((target("avx"))) void avx_tile(double* to, std::size_t to_stride, const double* from,
                                             std::size_t from_stride) {
  for (std::size_t row = 0; row < tile; row += 4)
    for (std::size_t column = 0; column < tile; column += 4) {
      const double* in = from + column * from_stride + row;
      const __m256d a = _mm256_loadu_pd(in), b = _mm256_loadu_pd(in + from_stride),
                    c = _mm256_loadu_pd(in + 2 * from_stride), d = _mm256_loadu_pd(in + 3 * from_stride);
      const __m256d even_low = _mm256_unpacklo_pd(a, b), odd_low = _mm256_unpackhi_pd(a, b),
                    even_high = _mm256_unpacklo_pd(c, d), odd_high = _mm256_unpackhi_pd(c, d);
      __m256d rows[4] = {
          _mm256_permute2f128_pd(even_low, even_high, 0x20), _mm256_permute2f128_pd(odd_low, odd_high, 0x20),
          _mm256_permute2f128_pd(even_low, even_high, 0x31), _mm256_permute2f128_pd(odd_low, odd_high, 0x31)};
      for (std::size_t i = 0; i < 4; ++i) {
        double* out = to + (row + i) * to_stride + column;
        if (add) rows[i] = _mm256_add_pd(_mm256_loadu_pd(out), rows[i]);
        _mm256_storeu_pd(out, rows[i]);
      }
    }
}

#endif

template <bool add>
Tile tile_of_this_processor() {
#if defined __x86_64__
  if (__builtin_cpu_supports("avx")) return avx_tile<add>;
#endif
  return plain_tile<add>;
}

template <bool add>
void in_tiles(const Columns<double>& to, const Columns<const double>& from, std::size_t rows, std::size_t columns) {
  static const Tile one = tile_of_this_processor<add>();
  const std::size_t whole_rows = rows / tile * tile, whole_columns = columns / tile * tile;
  const auto singly = [&](std::size_t row, std::size_t column) {
    double& element = *to.at(column, row);
    element = (add ? element : 0) + *from.at(row, column);
  };
  for (std::size_t column = 0; column < whole_columns; column += tile) {
    for (std::size_t row = 0; row < whole_rows; row += tile)
      one(to.at(column, row), to.stride, from.at(row, column), from.stride);
    for (std::size_t c = column; c < column + tile; ++c)
      for (std::size_t row = whole_rows; row < rows; ++row) singly(row, c);
  }
  for (std::size_t column = whole_columns; column < columns; ++column)
    for (std::size_t row = 0; row < rows; ++row) singly(row, column);
}

}  // namespace

void transpose(const Columns<double>& to, const Columns<const double>& from, std::size_t rows, std::size_t columns) {
  in_tiles<false>(to, from, rows, columns);
}

void add_transpose(const Columns<double>& to, const Columns<const double>& from, std::size_t rows,
                   std::size_t columns) {
  in_tiles<true>(to, from, rows, columns);
}

}  // namespace kiviat
