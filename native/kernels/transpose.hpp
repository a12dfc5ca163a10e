// Transposition of parts of column-major matrices.
#pragma once

#include <cstddef>

namespace kiviat {

// A part of a matrix: columns are `stride` elements apart.
template <class T>
struct Columns {
  T* begin;
  std::size_t stride;
  T* at(std::size_t row, std::size_t column) const { return begin + column * stride + row; }
};

// Stores (transpose) or adds (add_transpose) the transpose of `from`, with `rows` rows and `columns` columns, to `to`,
// with `columns` rows and `rows` columns.
void transpose(const Columns<double>& to, const Columns<const double>& from, std::size_t rows, std::size_t columns);
void add_transpose(const Columns<double>& to, const Columns<const double>& from, std::size_t rows, std::size_t columns);

}  // namespace kiviat
