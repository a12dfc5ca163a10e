// Panel factorisation: LU with partial pivoting of a block of columns by the ranks of one grid column, recursive in
// columns so that most of the work is matrix products (S. Toledo, "Locality of reference in LU decomposition with
// partial pivoting", SIAM J. Matrix Anal. Appl. 18, 1997).
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "bench/hpcc/block_cyclic.hpp"
#include "kernels/blas.hpp"
#include "platform/compute.hpp"
#include "platform/node.hpp"
#include "platform/steady_state.hpp"
#include "support/random.hpp"

namespace kiviat {

// Column-major; element (i, j) is data[i + j * ld].
struct Matrix {
  double* data;
  std::int64_t ld;
  double* at(std::int64_t i, std::int64_t j) const { return data + i + j * ld; }
};

// This rank's part of block column k. Every rank of the grid has `top`, the rows of the diagonal block after pivoting:
// U, and unit lower triangular L, whose ones are not stored. `below`: this rank's rows of L below the diagonal block.
// On ranks with the diagonal block both are contiguous, so the elimination treats them as one matrix.
struct Panel {
  // Number of the block, its first global row and column, its number of columns.
  std::int64_t block = 0, first = 0, width = 0;
  int root_row = 0, root_column = 0;  // grid coordinates of the diagonal block
  bool has_diagonal = false;
  std::int64_t first_below = 0, rows_below = 0;  // local rows below the diagonal block
  std::span<double> room, data;                  // memory; the part of it that is broadcast
  Matrix top{}, below{};
  std::vector<std::int64_t> pivots;  // global row of the pivot of each column

  void place(std::int64_t k, const Cyclic& rows, const Cyclic& columns) {
    block = k, first = k * rows.block, width = std::min(rows.block, rows.count - first);
    root_row = rows.owner(first), root_column = columns.owner(first);
    has_diagonal = root_row == rows.mine;
    first_below = rows.before(first + width), rows_below = rows.size() - first_below;
    const std::int64_t step = has_diagonal ? width + rows_below : width;
    top = {room.data(), step};
    if (has_diagonal)
      below = {room.data() + width, step};
    else
      below = {room.data() + width * width, std::max<std::int64_t>(rows_below, 1)};
    data = room.first(static_cast<std::size_t>(width * (width + rows_below)));
    pivots.resize(static_cast<std::size_t>(width));
  }
  // Number of doubles of `room` on the rank with most rows.
  static std::int64_t most(const Cyclic& rows) {
    const std::int64_t width = std::min(rows.block, rows.count);
    return width * (rows.size() + (rows.parts > 1 ? width : 0));
  }
};

class PanelFactorization {
 public:
  PanelFactorization(const Cyclic& rows, MPI_Comm grid_column, const Blas& blas, std::uint64_t seed)
      : rows_(rows), comm_(grid_column), blas_(blas), seed_(seed), computing_(host::carries_payload()) {
    if (rows_.parts > 1) MPI_Op_create(&choose, 1, &choice_);
  }
  ~PanelFactorization() {
    if (rows_.parts > 1) MPI_Op_free(&choice_);
  }
  PanelFactorization(const PanelFactorization&) = delete;
  PanelFactorization& operator=(const PanelFactorization&) = delete;

  // Collective over the grid column.
  void operator()(Panel& panel) {
    panel_ = &panel;
    if (rows_.parts == 1) {
      // A single rank does not communicate, so the factorisation is one computation.
      const double rows = static_cast<double>(panel.width + panel.rows_below), width = static_cast<double>(panel.width);
      work::run({width * width * (rows - width / 3), 16 * rows * width}, [&] { factor(0, panel.width); });
      if (!computing_)
        for (std::int64_t j = 0; j < panel.width; ++j) panel.pivots[static_cast<std::size_t>(j)] = imagined_pivot(j);
      return;
    }
    words_.resize(2 * static_cast<std::size_t>(header + 2 * panel.width));
    MPI_Type_contiguous(static_cast<int>((header + 2 * panel.width) * sizeof(double)), MPI_BYTE, &offer_);
    MPI_Type_commit(&offer_);
    if (!computing_) imagine_agreements();
    factor(0, panel.width);
    MPI_Type_free(&offer_);
  }

  // The pivot searches of `width` columns: a loop of equal iterations, of which simulations execute the first ones
  // only.
  static SteadyState agreements(MPI_Comm grid_column, std::int64_t width) { return {grid_column, width, 4, 4}; }

  // First column without a pivot (all zero), as far as this rank knows; -1 if there is none.
  std::int64_t singular_column() const { return singular_; }

 private:
  static constexpr std::int64_t leaf = 12;  // columns eliminated one by one at the end of the recursion
  static constexpr std::int64_t header =
      3;  // number of header words before the row: magnitude and row of the pivot, whether this rank has the top row

  template <class Kernel>
  void run(double flops, double bytes, const Kernel& kernel) {
    if (rows_.parts == 1)
      kernel();
    else
      work::run({flops, bytes}, kernel);
  }

  // Returns this rank's rows from row `from` of the panel on.
  Matrix left(std::int64_t from) const {
    return panel_->has_diagonal ? Matrix{panel_->top.at(from, 0), panel_->top.ld} : panel_->below;
  }
  std::int64_t rows_left(std::int64_t from) const {
    return panel_->rows_below + (panel_->has_diagonal ? panel_->width - from : 0);
  }
  // Global row of row i of left(from).
  std::int64_t global_row(std::int64_t from, std::int64_t i) const {
    if (!panel_->has_diagonal) return rows_.global(panel_->first_below + i);
    const std::int64_t row = from + i;
    return row < panel_->width ? panel_->first + row : rows_.global(panel_->first_below + row - panel_->width);
  }
  // The row of left(0) that is row `global` of the matrix.
  std::int64_t local_row(std::int64_t global) const {
    const std::int64_t row = rows_.before(global) - panel_->first_below;
    return panel_->has_diagonal ? row + panel_->width : row;
  }

  void factor(std::int64_t begin, std::int64_t end) {
    const std::int64_t columns = end - begin;
    if (columns <= leaf) {
      if (computing_)
        for (std::int64_t j = begin; j < end; ++j) eliminate(begin, j);
      else
        imagine_elimination(begin, end);
      return;
    }
    const std::int64_t half = (columns / 2 + leaf - 1) / leaf * leaf,
                       middle = begin + (half < columns ? half : columns / 2);
    factor(begin, middle);
    const Matrix &top = panel_->top, under = left(middle);
    const std::int64_t width = middle - begin, others = end - middle, rows = rows_left(middle);
    const double flops = static_cast<double>(width * others) * static_cast<double>(width + 2 * rows);
    run(flops, 16.0 * static_cast<double>(rows * others), [&] {
      blas_.trsm(width, others, top.at(begin, begin), top.ld, top.at(begin, middle), top.ld);
      blas_.gemm(rows, others, width, -1, under.at(0, begin), under.ld, top.at(begin, middle), top.ld, 1,
                 under.at(0, middle), under.ld);
    });
    factor(middle, end);
  }

  // Operations of one column, including the division. Columns eliminated one by one are assumed to be in the cache.
  double flops_of(std::int64_t begin, std::int64_t j) const {
    return static_cast<double>(2 * rows_left(j) * (j - begin + 1));
  }

  // Applies pending updates by columns `begin` to j - 1 to column j, then eliminates it.
  void eliminate(std::int64_t begin, std::int64_t j) {
    std::int64_t best = 0;
    double magnitude = 0;
    const Matrix all = left(j);
    const std::int64_t rows = rows_left(j), before = j - begin;
    run(flops_of(begin, j), 0, [&] {
      const Matrix& top = panel_->top;
      for (std::int64_t k = begin; k < j; ++k)
        for (std::int64_t i = k + 1; i < j; ++i) *top.at(i, j) -= *top.at(i, k) * *top.at(k, j);
      subtract_columns(all.at(0, j), all.at(0, begin), all.ld, top.at(begin, j), before, rows);
      best = greatest(all.at(0, j), rows);
      if (rows > 0 && std::abs(*all.at(best, j)) > 0) magnitude = std::abs(*all.at(best, j));  // false for NaN
    });
    std::int64_t& pivot = panel_->pivots[static_cast<std::size_t>(j)];
    if (rows_.parts == 1) {
      pivot = global_row(j, best);
      if (best > 0)
        for (std::int64_t c = 0; c < panel_->width; ++c) std::swap(*all.at(0, c), *all.at(best, c));
    } else {
      magnitude = agree(j, best, magnitude);
      pivot = static_cast<std::int64_t>(words_[1]);
    }
    if (!(magnitude > 0)) {
      if (singular_ < 0) singular_ = panel_->first + j;
      return;
    }
    double* const multipliers = left(j + 1).at(0, j);
    const std::int64_t number = rows_left(j + 1);
    const double divisor = *panel_->top.at(j, j), factor = 1 / divisor;
    // If the pivot is very small, its reciprocal overflows.
    if (std::isfinite(factor))
      for (std::int64_t i = 0; i < number; ++i) multipliers[i] *= factor;
    else
      for (std::int64_t i = 0; i < number; ++i) multipliers[i] /= divisor;
  }

  // column -= columns * factors, four columns at a time, so that the result is read and written less often.
  static void subtract_columns(double* __restrict__ column, const double* __restrict__ columns, std::int64_t ld,
                               const double* __restrict__ factors, std::int64_t number, std::int64_t rows) {
    std::int64_t k = 0;
    for (; k + 4 <= number; k += 4) {
      const double *const a = columns + k * ld, *const b = a + ld, *const c = b + ld, *const d = c + ld;
      const double fa = factors[k], fb = factors[k + 1], fc = factors[k + 2], fd = factors[k + 3];
      for (std::int64_t i = 0; i < rows; ++i) column[i] -= (a[i] * fa + b[i] * fb) + (c[i] * fc + d[i] * fd);
    }
    for (; k < number; ++k)
      for (std::int64_t i = 0; i < rows; ++i) column[i] -= columns[i + k * ld] * factors[k];
  }

  // Index of the first element of greatest magnitude, found with SIMD; NaN is never chosen.
  static std::int64_t greatest(const double* column, std::int64_t rows) {
    constexpr std::int64_t lanes = 8, strip = 16 * lanes;
    double most = 0;
    std::int64_t found = 0;
    for (std::int64_t first = 0; first < rows; first += strip) {
      const std::int64_t end = std::min(first + strip, rows);
      double in_lane[lanes] = {};
      std::int64_t i = first;
      for (; i + lanes <= end; i += lanes)
        for (std::int64_t lane = 0; lane < lanes; ++lane) {
          const double here = std::abs(column[i + lane]);
          in_lane[lane] = here > in_lane[lane] ? here : in_lane[lane];
        }
      for (; i < end; ++i) in_lane[0] = std::max(in_lane[0], std::abs(column[i]));
      const double here = *std::ranges::max_element(in_lane);
      if (!(here > most)) continue;
      most = here;
      for (found = first; std::abs(column[found]) != most;) ++found;
    }
    return found;
  }

  // Agrees on the pivot of column j with all ranks of the grid column and exchanges its row with the top one, in a
  // single reduction, as in HPL (Petitet, Whaley, Dongarra, Cleary, "HPL: algorithm", netlib).
  double agree(std::int64_t j, std::int64_t best, double magnitude) {
    const std::int64_t width = panel_->width, words = header + 2 * width;
    double *const mine = words_.data(), *const chosen = mine + words;
    const std::int64_t row = rows_left(j) > 0 ? global_row(j, best) : rows_.count;
    mine[0] = magnitude, mine[1] = static_cast<double>(row), mine[2] = panel_->has_diagonal;
    if (computing_) {
      const Matrix all = left(j);
      for (std::int64_t c = 0; c < width; ++c) {
        mine[header + c] = rows_left(j) > 0 ? *all.at(best, c) : 0;
        mine[header + width + c] = panel_->has_diagonal ? *panel_->top.at(j, c) : 0;
      }
    }
    MPI_Allreduce(mine, chosen, 1, offer_, choice_, comm_);
    if (computing_) {
      const auto pivot = static_cast<std::int64_t>(chosen[1]);
      const double *const pivot_row = chosen + header, *const top_row = pivot_row + width;
      for (std::int64_t c = 0; c < width; ++c) *panel_->top.at(j, c) = pivot_row[c];
      if (pivot != panel_->first + j && rows_.owner(pivot) == rows_.mine) {
        const std::int64_t at = local_row(pivot);
        const Matrix place = left(0);
        for (std::int64_t c = 0; c < width; ++c) *place.at(at, c) = top_row[c];
      }
    }
    std::copy_n(chosen, header, mine);
    return chosen[0];
  }

  // Simulates the pivot searches of all columns in one loop, without payload.
  void imagine_agreements() {
    SteadyState columns = agreements(comm_, panel_->width);
    for (std::int64_t j = 0; j < columns.made(); ++j) {
      if (columns.settled(j)) columns.watch();
      agree(j, 0, 0);
    }
    columns.account_for_skipped();
    for (std::int64_t j = 0; j < panel_->width; ++j) panel_->pivots[static_cast<std::size_t>(j)] = imagined_pivot(j);
  }

  // Simulates the arithmetic of the elimination, column by column.
  void imagine_elimination(std::int64_t begin, std::int64_t end) {
    double flops = 0;
    for (std::int64_t j = begin; j < end; ++j) flops += flops_of(begin, j);
    run(flops, 0, [] {});
  }

  // Returns a random pivot row, as in a random matrix.
  std::int64_t imagined_pivot(std::int64_t j) const {
    const std::int64_t column = panel_->first + j;
    const std::uint64_t random = random_at(seed_, static_cast<std::uint64_t>(column));
    return column + static_cast<std::int64_t>(random % static_cast<std::uint64_t>(rows_.count - column));
  }

  // Reduction operator: takes the pivot of greater magnitude; of equal ones the upper row, so that the result does not
  // depend on the order.
  static void choose(void* in, void* into, int* count, MPI_Datatype* type) {
    int bytes;
    MPI_Type_size(*type, &bytes);
    const std::size_t words = static_cast<std::size_t>(bytes) / sizeof(double), width = (words - header) / 2;
    for (int offer = 0; offer < *count; ++offer) {
      const double* from = static_cast<const double*>(in) + offer * words;
      double* to = static_cast<double*>(into) + offer * words;
      if (from[0] > to[0] || (from[0] == to[0] && from[1] < to[1])) {
        std::copy_n(from, 2, to);
        std::copy_n(from + header, width, to + header);
      }
      if (from[2] > 0) {
        to[2] = from[2];
        std::copy_n(from + header + width, width, to + header + width);
      }
    }
  }

  Cyclic rows_;
  MPI_Comm comm_;
  const Blas& blas_;
  std::uint64_t seed_;
  bool computing_;
  Panel* panel_ = nullptr;
  std::vector<double> words_;  // this rank's pivot candidate, and the chosen one
  MPI_Op choice_ = MPI_OP_NULL;
  MPI_Datatype offer_ = MPI_DATATYPE_NULL;
  std::int64_t singular_ = -1;
};

}  // namespace kiviat
