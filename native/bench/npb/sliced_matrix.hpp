// A sparse matrix for products with a vector, in SELL-4-64 format with cache blocking: (1) panels of rows, so that the
// sums stay in the cache; (2) within a panel, blocks of columns, so that the block's part of the vector stays in the
// cache; (3) within a block, slices of four rows, with element k of all four rows side by side. Within a block, rows
// are sorted by number of elements, 64 at a time, and padded with zeros to the longest row of their slice (M. Kreutzer
// et al., "A unified sparse matrix data format for efficient general sparse matrix-vector multiplication on modern
// processors with wide SIMD units", SIAM J. Sci. Comput. 36(5), 2014).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "bench/npb/random_matrix.hpp"
#include "kernels/huge_pages.hpp"

namespace kiviat::npb {

class SlicedMatrix {
 public:
  static constexpr std::size_t height = 4, sorted = 64, panel = 1024;
  typedef double Values __attribute__((vector_size(height * sizeof(double))));
  using Columns = std::array<std::uint16_t, height>;
  struct Slice {
    std::array<std::int32_t, height> row;  // from the panel's first row; unused lanes have the row behind the last
    std::int32_t first_column, length;
  };

  static double bytes(double elements) { return elements * (sizeof(double) + sizeof(std::uint16_t)); }

  // Calls allocate(bytes) for its memory.
  SlicedMatrix(const RandomMatrix& matrix, const std::function<HugePages(std::size_t)>& allocate)
      : rows_(matrix.rows().size()),
        columns_(matrix.columns().size()),
        width_(width(columns_, matrix.elements_of_row())) {
    std::size_t length = 0, slices = 0;
    each_slice(matrix, [&](const Slice& slice, auto) { length += static_cast<std::size_t>(slice.length), ++slices; });
    memory_ = allocate(length * (sizeof(Values) + sizeof(Columns)));
    slices_.reserve(slices);
    values_ = memory_.as<Values>(), indices_ = reinterpret_cast<Columns*>(values_ + length);
    std::size_t at = 0;
    each_slice(matrix, [&](const Slice& slice, auto element) {
      slices_.push_back(slice);
      for (std::size_t k = 0; k < static_cast<std::size_t>(slice.length); ++k, ++at)
        for (std::size_t lane = 0; lane < height; ++lane) {
          const Element one = element(lane, k);
          values_[at][lane] = one.value, indices_[at][lane] = one.column;
        }
    });
  }

  const std::vector<Slice>& slices() const { return slices_; }
  const Values* values() const { return values_; }     // values of all slices, one slice after the other
  const Columns* columns() const { return indices_; }  // column indices, relative to first_column

 private:
  struct Element {
    double value = 0;
    std::uint16_t column = 0;
  };
  struct Row {
    std::int32_t number;
    std::vector<std::int32_t> column;
    std::vector<double> value;
    std::size_t begin = 0, end = 0;  // elements within the block
  };

  // Width of a block of columns: half of a first-level cache, but wide enough for a dozen elements of a row, because a
  // slice has a fixed cost of several elements.
  static std::int64_t width(std::int64_t columns, double elements_of_row) {
    const double wanted = 12 * static_cast<double>(columns) / elements_of_row;
    return std::clamp(static_cast<std::int64_t>(wanted), std::int64_t{2048}, std::int64_t{1} << 16);
  }

  // Calls use(slice, element) for each slice; element(lane, k) is element k of the row in `lane`.
  template <class Use>
  void each_slice(const RandomMatrix& matrix, Use use) const {
    std::vector<Row> rows;
    matrix.each_row([&](std::int64_t row, const auto& column, const auto& value) {
      rows.push_back({static_cast<std::int32_t>(row), column, value});
      if (rows.size() == panel || row + 1 == rows_) slice_panel(rows, use), rows.clear();
    });
  }

  template <class Use>
  void slice_panel(std::vector<Row>& rows, Use& use) const {
    std::vector<const Row*> window;
    for (std::int64_t first = 0; first < columns_; first += width_) {
      for (Row& row : rows)
        for (row.begin = row.end; row.end < row.column.size() && row.column[row.end] < first + width_;) ++row.end;
      for (std::size_t begin = 0; begin < rows.size(); begin += sorted) {
        window.clear();
        for (std::size_t i = begin; i < std::min(rows.size(), begin + sorted); ++i) window.push_back(&rows[i]);
        std::ranges::stable_sort(window, std::greater{}, length);
        for (std::size_t i = 0; i < window.size(); i += height) use_four(window, i, first, use);
      }
    }
  }

  template <class Use>
  void use_four(const std::vector<const Row*>& window, std::size_t begin, std::int64_t first_column, Use& use) const {
    Slice slice{.row = {}, .first_column = static_cast<std::int32_t>(first_column), .length = 0};
    slice.length = static_cast<std::int32_t>(length(window[begin]));
    for (std::size_t lane = 0; lane < height; ++lane)
      slice.row[lane] = begin + lane < window.size() ? window[begin + lane]->number : static_cast<std::int32_t>(rows_);
    use(slice, [&](std::size_t lane, std::size_t k) -> Element {
      if (begin + lane >= window.size() || k >= length(window[begin + lane])) return {};
      const Row& row = *window[begin + lane];
      return {row.value[row.begin + k], static_cast<std::uint16_t>(row.column[row.begin + k] - first_column)};
    });
  }

  static std::size_t length(const Row* row) { return row->end - row->begin; }

  std::int64_t rows_, columns_, width_;
  HugePages memory_;
  std::vector<Slice> slices_;
  Values* values_;
  Columns* indices_;
};

}  // namespace kiviat::npb
