// Solves A x = b by Gaussian elimination with partial pivoting. A is distributed block-cyclically over a grid of ranks,
// with b as an additional column. The algorithm is right-looking; the next panel is factored and broadcast before the
// rest of the matrix is updated (HPL: Dongarra, Luszczek, Petitet, "The LINPACK Benchmark: past, present and future",
// Concurrency Computat. 15, 2003).
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "bench/hpcc/elimination_plan.hpp"
#include "bench/hpcc/panel.hpp"
#include "bench/hpcc/panel_routes.hpp"
#include "bench/hpcc/row_swaps.hpp"
#include "bench/hpcc/unit_roundoff.hpp"

namespace kiviat {

// Element of the pseudo-random matrix of a seed; column `order` is the right-hand side.
inline double element(std::uint64_t seed, std::int64_t order, std::int64_t row, std::int64_t column) {
  return centred(random_at(seed, static_cast<std::uint64_t>(column * order + row)));
}

// Communicators of all ranks of a grid (row-major), of this rank's row, and of its column.
struct GridRanks {
  MPI_Comm all, along_row, along_column;
  int row, column;
  // Collective.
  GridRanks(MPI_Comm ranks, GridShape shape) : all(ranks) {
    int rank;
    MPI_Comm_rank(ranks, &rank);
    row = rank / shape.columns, column = rank % shape.columns;
    MPI_Comm_split(ranks, row, column, &along_row);
    MPI_Comm_split(ranks, column, row, &along_column);
  }
  ~GridRanks() {
    MPI_Comm_free(&along_row);
    MPI_Comm_free(&along_column);
  }
  GridRanks(const GridRanks&) = delete;
  GridRanks& operator=(const GridRanks&) = delete;
};

class Elimination {
 public:
  // `memory` must have Places(plan).doubles() doubles.
  Elimination(const Plan& plan, const GridRanks& grid, const Blas& blas, std::span<double> memory)
      : plan_(plan),
        blas_(blas),
        computing_(host::carries_payload()),
        grid_(grid),
        rows_(plan.rows(grid.row)),
        columns_(plan.columns(grid.column)),
        places_(plan),
        factorization_(rows_, grid.along_column, blas_, plan.seed),
        exchange_(grid.along_column, plan.swap),
        broadcasts_(2, Broadcast(grid.along_row, plan.route)) {
    std::size_t at = 0;
    const auto take = [&](std::int64_t doubles) {
      const auto piece = memory.subspan(at, static_cast<std::size_t>(doubles));
      at += piece.size();
      return piece;
    };
    a_ = {take(places_.matrix).data(), places_.step};
    for (int i = 0; i < places_.panels; ++i) panels_[i].room = take(places_.panel);
    u_ = take(places_.u).data();
    gathered_ = take(places_.gathered).data();
    sums_ = take(rows_.size());
    residuals_ = take(rows_.size()), norms_ = take(rows_.size());
    x_ = take(columns_.size());
    block_ = take(std::min(plan.block, plan.order));
  }

  // Generates the matrix and the right-hand side; touches all memory.
  void generate() {
    if (!computing_) return;
    const std::int64_t local_columns = columns_.size(), local_rows = rows_.size();
#pragma omp parallel for num_threads(plan_.threads) if (plan_.threads > 1)
    for (std::int64_t j = 0; j < local_columns; ++j) {
      const std::int64_t column = columns_.global(j);
      for (std::int64_t first = 0; first < local_rows; first += plan_.block) {
        const std::int64_t row = rows_.global(first), number = std::min(plan_.block, local_rows - first);
        for (std::int64_t i = 0; i < number; ++i)
          *a_.at(first + i, j) = element(plan_.seed, plan_.order, row + i, column);
      }
    }
    for (int i = 0; i < places_.panels; ++i) std::ranges::fill(panels_[i].room, 0);
    std::fill_n(u_, places_.u, 0);
    std::fill_n(gathered_, places_.gathered, 0);
    for (const auto vector : {sums_, residuals_, norms_, x_, block_}) std::ranges::fill(vector, 0);
  }
  // For tests: pointer to an element, null if another rank has it.
  double* find(std::int64_t row, std::int64_t column) {
    if (rows_.owner(row) != rows_.mine || columns_.owner(column) != columns_.mine) return nullptr;
    return a_.at(rows_.before(row), columns_.before(column));
  }
  // Called with every panel on the ranks that factored it, before it is broadcast.
  std::function<void(Panel&)> on_panel;
  // Called on every rank with the completed share, 0 to 1.
  std::function<void(double)> on_progress;

  // Collective.
  void solve() {
    eliminate();
    substitute();
  }
  std::int64_t singular_column() const { return factorization_.singular_column(); }
  // The solution for the columns of this rank.
  std::span<const double> x() const { return x_; }
  const Cyclic& columns() const { return columns_; }

  // |A x - b| / (eps (|A| |x| + |b|) N) in the maximum norm, with A and b generated anew. Collective.
  double residual() {
    std::ranges::fill(residuals_, 0), std::ranges::fill(norms_, 0);
    const std::int64_t right_hand_side = plan_.order, local_rows = rows_.size();
    double greatest_b = 0, greatest_x = 0;
#pragma omp parallel for num_threads(plan_.threads) if (plan_.threads > 1)
    for (std::int64_t first = 0; first < local_rows; first += plan_.block) {
      const std::int64_t row = rows_.global(first), number = std::min(plan_.block, local_rows - first);
      double *const residuals = residuals_.data() + first, *const norms = norms_.data() + first;
      for (std::int64_t j = 0; j < columns_.size(); ++j) {
        const std::int64_t column = columns_.global(j);
        const bool of_matrix = column < right_hand_side;
        const double x = of_matrix ? x_[static_cast<std::size_t>(j)] : -1;
        for (std::int64_t i = 0; i < number; ++i) {
          const double value = element(plan_.seed, plan_.order, row + i, column);
          residuals[i] += value * x;
          if (of_matrix) norms[i] += std::abs(value);
        }
      }
    }
    // Returns the maximum of two numbers, or NaN if either is NaN.
    const auto greater = [](double a, double b) { return std::isnan(b) || b > a ? b : a; };
    for (std::int64_t j = 0; j < columns_.size(); ++j) {
      if (const std::int64_t column = columns_.global(j); column < right_hand_side) {
        greatest_x = greater(greatest_x, std::abs(x_[static_cast<std::size_t>(j)]));
      } else {
        for (std::int64_t i = 0; i < local_rows; ++i)
          greatest_b = greater(greatest_b, std::abs(element(plan_.seed, plan_.order, rows_.global(i), column)));
      }
    }
    for (const auto vector : {residuals_, norms_})
      MPI_Allreduce(MPI_IN_PLACE, vector.data(), static_cast<int>(vector.size()), MPI_DOUBLE, MPI_SUM, grid_.along_row);
    double greatest_residual = 0, greatest_norm = 0;
    for (const double here : residuals_) greatest_residual = greater(greatest_residual, std::abs(here));
    for (const double here : norms_) greatest_norm = greater(greatest_norm, here);
    const bool strange = !std::isfinite(greatest_residual) || !std::isfinite(greatest_x);
    double greatest[] = {strange ? 0 : greatest_residual, greatest_norm, strange ? 0 : greatest_x, greatest_b,
                         static_cast<double>(strange)};
    MPI_Allreduce(MPI_IN_PLACE, greatest, static_cast<int>(std::size(greatest)), MPI_DOUBLE, MPI_MAX, grid_.all);
    if (greatest[4] > 0) return NAN;
    const double scale = greatest[1] * greatest[2] + greatest[3];
    return greatest[0] / (unit_roundoff * scale * static_cast<double>(plan_.order));
  }

 private:
  void eliminate() {
    const std::int64_t blocks = rows_.blocks();
    const bool ahead = places_.panels > 1;
    const auto turn = [&](std::int64_t block) { return static_cast<std::size_t>(block % places_.panels); };
    begin(0, turn(0));
    for (std::int64_t block = 0; block < blocks; ++block) {
      Panel& panel = panels_[turn(block)];
      broadcasts_[turn(block)].arrive();
      std::int64_t from = columns_.before(panel.first + panel.width);
      const Interchange moves(panel, rows_);
      if (ahead && block + 1 < blocks) {
        const std::int64_t next = (block + 1) * plan_.block;
        if (columns_.owner(next) == columns_.mine) {
          const std::int64_t width = std::min(plan_.block, plan_.order - next);
          update(panel, moves, from, from + width, nullptr);
          from += width;
        }
        begin(block + 1, turn(block + 1));
        update(panel, moves, from, columns_.size(), &broadcasts_[turn(block + 1)]);
      } else {
        update(panel, moves, from, columns_.size(), nullptr);
        if (block + 1 < blocks) begin(block + 1, turn(block + 1));
      }
      if (on_progress) {
        const double left = 1 - static_cast<double>(block + 1) / static_cast<double>(blocks);
        on_progress(1 - left * left * left);
      }
    }
    for (Broadcast& broadcast : broadcasts_) broadcast.finish();
  }

  // Starts the panel of a block: factors it on its grid column, receives it elsewhere.
  void begin(std::int64_t block, std::size_t turn) {
    Panel& panel = panels_[turn];
    Broadcast& broadcast = broadcasts_[turn];
    broadcast.finish();
    panel.place(block, rows_, columns_);
    if (panel.root_column == columns_.mine) {
      const std::int64_t column = columns_.before(panel.first), row = rows_.before(panel.first),
                         rows = rows_.size() - row;
      const Matrix place = panel.has_diagonal ? panel.top : panel.below;
      run(0, 16 * static_cast<double>(rows * panel.width), [&] {
        for (std::int64_t j = 0; j < panel.width; ++j) std::copy_n(a_.at(row, column + j), rows, place.at(0, j));
      });
      factorization_(panel);
      if (panel.has_diagonal) {
        run(0, 16 * static_cast<double>(panel.width * panel.width), [&] {
          for (std::int64_t j = 0; j < panel.width; ++j)
            std::copy_n(panel.top.at(0, j), panel.width, a_.at(row, column + j));
        });
      }
      if (on_panel) on_panel(panel);
    }
    broadcast.start(panel.root_column, reinterpret_cast<std::byte*>(panel.data.data()), panel.data.size_bytes(),
                    panel.pivots.data(), panel.pivots.size());
  }

  // Updates columns `begin` to `end` of this rank: exchanges rows, solves for the rows of U, subtracts the product.
  // Meanwhile advances the broadcast `under_way`.
  void update(const Panel& panel, const Interchange& moves, std::int64_t begin, std::int64_t end,
              Broadcast* under_way) {
    const std::int64_t columns = end - begin, width = panel.width, below = panel.rows_below;
    if (under_way) under_way->advance();
    if (rows_.parts > 1)
      swap_with_others(panel, moves, begin, columns);
    else
      swap_here(panel, moves, begin, columns);
    run(static_cast<double>(width * width * columns), 16 * static_cast<double>(width * columns), [&] {
      blas_.trsm(width, columns, panel.top.data, panel.top.ld, u_, width);
      if (panel.has_diagonal)
        each_column(columns, [&](std::int64_t j) {
          std::copy_n(u_ + j * width, width, a_.at(panel.first_below - width, begin + j));
        });
    });
    const std::int64_t chunks =
        under_way && plan_.grid.columns > 1 ? std::clamp<std::int64_t>(columns / 1024, 1, 4) : 1;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      const std::int64_t first = columns * chunk / chunks, number = columns * (chunk + 1) / chunks - first;
      const double elements = static_cast<double>(below * number);
      run(2 * elements * static_cast<double>(width), 16 * elements, [&] {
        blas_.gemm(below, number, width, -1, panel.below.data, panel.below.ld, u_ + first * width, width, 1,
                   a_.at(panel.first_below, begin + first), a_.ld);
      });
      if (under_way) under_way->advance();
    }
  }

  template <class Kernel>
  void run(double flops, double bytes, const Kernel& kernel) {
    work::run({flops, bytes}, kernel);
  }

  template <class Body>
  void each_column(std::int64_t columns, const Body& body) const {
#pragma omp parallel for num_threads(plan_.threads) if (plan_.threads > 1)
    for (std::int64_t j = 0; j < columns; ++j) body(j);
  }

  // Rows to exchange are far apart in memory, so the elements of a later column are prefetched while the current one's
  // are moved.
  static constexpr std::int64_t fetched_ahead = 4;
  template <class Moves>
  void fetch(const Moves& moves, std::int64_t column) const {
    for (const auto& move : moves) __builtin_prefetch(a_.at(move.local, column), 1);
  }

  void swap_here(const Panel& panel, const Interchange& moves, std::int64_t begin, std::int64_t columns) {
    const std::int64_t width = panel.width, top = panel.first_below - width;
    const auto &to_top = moves.to_top[0], &from_top = moves.from_top[0];
    run(0, 16 * static_cast<double>(2 * width * columns), [&] {
      if (to_top.empty()) return;
      each_column(columns, [&](std::int64_t j) {
        if (j + fetched_ahead < columns) fetch(to_top, begin + j + fetched_ahead);
        double *const column = a_.at(0, begin + j), *const u = u_ + j * width;
        for (const auto [local, index] : to_top) u[index] = column[local];
        for (const auto [local, index] : from_top) column[local] = column[top + index];
      });
    });
  }

  void swap_with_others(const Panel& panel, const Interchange& moves, std::int64_t begin, std::int64_t columns) {
    const std::int64_t width = panel.width, top = panel.first_below - width;
    const auto parts = static_cast<std::size_t>(rows_.parts), me = static_cast<std::size_t>(rows_.mine);
    RowPieces of_all(parts), of_spread(parts);
    for (std::size_t part = 0; part < parts; ++part) {
      of_all.bytes[part] = static_cast<int>(static_cast<std::int64_t>(moves.to_top[part].size()) * columns * 8);
      of_spread.bytes[part] = static_cast<int>(static_cast<std::int64_t>(moves.from_top[part].size()) * columns * 8);
    }
    of_all.lay_out(), of_spread.lay_out();
    double *const all = gathered_, *const spread = gathered_ + places_.u;
    const auto piece_of = [](double* pieces, const RowPieces& of, std::size_t part) {
      return pieces + of.at[part] / 8;
    };
    run(0, 32 * static_cast<double>(width * columns), [&] {
      const auto& mine = moves.to_top[me];
      double* const out = piece_of(all, of_all, me);
      each_column(columns, [&](std::int64_t j) {
        if (j + fetched_ahead < columns) fetch(mine, begin + j + fetched_ahead);
        double* to = out + j * static_cast<std::int64_t>(mine.size());
        for (const auto [local, index] : mine) *to++ = *a_.at(local, begin + j);
        if (!panel.has_diagonal) return;
        for (std::size_t part = 0; part < parts; ++part) {
          double* down = piece_of(spread, of_spread, part) + j * static_cast<std::int64_t>(moves.from_top[part].size());
          for (const auto [local, index] : moves.from_top[part]) *down++ = *a_.at(top + index, begin + j);
        }
      });
    });
    if (columns > 0)
      exchange_(reinterpret_cast<std::byte*>(all), of_all, reinterpret_cast<std::byte*>(spread), of_spread,
                panel.root_row);
    run(0, 32 * static_cast<double>(width * columns), [&] {
      const auto& mine = moves.from_top[me];
      const double* const in = piece_of(spread, of_spread, me);
      each_column(columns, [&](std::int64_t j) {
        for (std::size_t part = 0; part < parts; ++part) {
          const double* from = piece_of(all, of_all, part) + j * static_cast<std::int64_t>(moves.to_top[part].size());
          for (const auto [local, index] : moves.to_top[part]) u_[index + j * width] = *from++;
        }
        const double* from = in + j * static_cast<std::int64_t>(mine.size());
        for (const auto [local, index] : mine) *a_.at(local, begin + j) = *from++;
      });
    });
  }

  // Back substitution, U x = y, block by block from the last: sums the ranks' contributions on the rank of the diagonal
  // block, and broadcasts the solved unknowns to its grid column.
  void substitute() {
    if (computing_) std::ranges::fill(sums_, 0);
    const int y_column = columns_.owner(plan_.order);
    for (std::int64_t block = rows_.blocks() - 1; block >= 0; --block) {
      const std::int64_t first = block * plan_.block, width = std::min(plan_.block, plan_.order - first);
      const int row = rows_.owner(first), column = columns_.owner(first);
      const std::int64_t local = rows_.before(first);
      double* const known = block_.data();
      if (rows_.mine == row) {
        double* const mine = sums_.data() + local;
        if (columns_.mine == y_column && computing_)
          for (std::int64_t i = 0; i < width; ++i) mine[i] += *a_.at(local + i, columns_.before(plan_.order));
        MPI_Reduce(mine, known, static_cast<int>(width), MPI_DOUBLE, MPI_SUM, column, grid_.along_row);
      }
      if (columns_.mine != column) continue;
      double* const x = x_.data() + columns_.before(first);
      const Matrix u{a_.at(0, columns_.before(first)), a_.ld};
      if (rows_.mine == row)
        run(static_cast<double>(width * width), 8 * static_cast<double>(width * width) / 2, [&] {
          for (std::int64_t j = width - 1; j >= 0; --j) {
            x[j] = known[j] / *u.at(local + j, j);
            for (std::int64_t i = 0; i < j; ++i) known[i] -= x[j] * *u.at(local + i, j);
          }
        });
      MPI_Bcast(x, static_cast<int>(width * 8), MPI_BYTE, row, grid_.along_column);
      run(2 * static_cast<double>(local * width), 8 * static_cast<double>(local * width), [&] {
        for (std::int64_t j = 0; j < width; ++j)
          for (std::int64_t i = 0; i < local; ++i) sums_[static_cast<std::size_t>(i)] -= x[j] * *u.at(i, j);
      });
    }
  }

  Plan plan_;
  const Blas& blas_;
  bool computing_;
  const GridRanks& grid_;
  Cyclic rows_, columns_;
  Places places_;
  Matrix a_{};
  std::array<Panel, 2> panels_;
  double *u_ = nullptr, *gathered_ = nullptr;
  std::span<double> sums_, residuals_, norms_, x_, block_;
  PanelFactorization factorization_;
  RowExchange exchange_;
  std::vector<Broadcast> broadcasts_;
};

}  // namespace kiviat
