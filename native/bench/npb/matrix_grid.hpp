// Process grid of CG: each rank has the matrix elements in one block of rows and one block of columns, and the vector
// elements of its columns. The grid has as many columns as rows, or twice as many. D. Bailey et al., The NAS Parallel
// Benchmarks 2.0, NAS-95-020, 1995, section 3.1 (CG).
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "bench/npb/range.hpp"

namespace kiviat::npb {

class MatrixGrid {
 public:
  // A matrix of order `order` over `ranks`, a power of two, as seen from one of them.
  MatrixGrid(std::int64_t order, int ranks, int rank)
      : order_(order),
        columns_(1 << (std::bit_width(static_cast<unsigned>(ranks)) / 2)),
        rows_(ranks / columns_),
        row_(rank / columns_),
        column_(rank % columns_) {}

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  bool square() const { return rows_ == columns_; }

  Range row_block() const { return block(row_, rows_); }
  Range column_block() const { return block(column_, columns_); }

  // Rows whose sums this rank keeps: all rows of its block, or half of them if the grid has twice as many columns as
  // rows.
  Range kept() const { return square() ? row_block() : block(2 * row_ + column_ % 2, columns_); }

  // Partners for the summation, in order: ranks of the same grid row whose column differs in one binary digit. If rows
  // are halved, the first partner keeps the other half.
  std::vector<int> sum_partners() const {
    std::vector<int> partners;
    for (int digit = 1; digit < columns_; digit *= 2) partners.push_back(rank_at(row_, column_ ^ digit));
    return partners;
  }

  // The rank across the diagonal: it needs this rank's sums, and has the sums for this rank's columns.
  int transposed() const { return square() ? rank_at(column_, row_) : rank_at(column_ / 2, 2 * row_ + column_ % 2); }

 private:
  Range block(int index, int blocks) const { return {order_ * index / blocks, order_ * (index + 1) / blocks}; }
  int rank_at(int row, int column) const { return row * columns_ + column; }

  std::int64_t order_;
  int columns_, rows_, row_, column_;
};

}  // namespace kiviat::npb
