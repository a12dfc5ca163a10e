// Transposes parts of matrices that are stored by columns.
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

// `to`, of `columns` rows and `rows` columns, becomes the transpose of `from`, of `rows` rows and `columns` columns; or
// has it added.
void transpose(const Columns<double>& to, const Columns<const double>& from, std::size_t rows, std::size_t columns);
void add_transpose(const Columns<double>& to, const Columns<const double>& from, std::size_t rows, std::size_t columns);

}  // namespace kiviat
