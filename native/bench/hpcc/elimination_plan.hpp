// Size, distribution and solution method of a linear system, and the memory it needs.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bench/hpcc/block_cyclic.hpp"
#include "bench/hpcc/panel.hpp"
#include "bench/hpcc/panel_routes.hpp"
#include "bench/hpcc/row_swaps.hpp"

namespace kiviat {

// A linear system and the method of its solution.
struct Plan {
  std::int64_t order = 1, block = 1;
  GridShape grid{1, 1};
  int depth = 1;  // number of panels factored ahead
  Route route = Route::ring_first;
  Swap swap = Swap::roll;
  int threads = 1;
  std::uint64_t seed = 1;

  Cyclic rows(int of) const { return {order, block, grid.rows, of}; }
  // Distribution of the columns, including the right-hand side, for grid column `of`.
  Cyclic columns(int of) const { return {order + 1, block, grid.columns, of}; }
  int panels() const { return depth > 0 && grid.columns > 1 ? 2 : 1; }
};

// Memory layout of a rank, in doubles, sized for the rank that needs most.
struct Places {
  std::int64_t step = 0, columns = 0;  // distance between columns of the matrix, and number of columns
  std::int64_t matrix = 0, panel = 0, u = 0, gathered = 0, vectors = 0;
  int panels = 1;

  explicit Places(const Plan& plan) {
    const Cyclic rows = plan.rows(0), all = plan.columns(0);
    columns = all.size();
    step = rows.size();
    // Columns start at cache lines, but not all in the same cache set.
    if (step >= 256) {
      step = (step + 7) / 8 * 8;
      if (step % 128 == 0) step += 8;
    }
    matrix = step * columns;
    panel = (Panel::most(rows) + 7) / 8 * 8;
    const std::int64_t width = std::min(plan.block, plan.order);
    u = width * columns;
    gathered = plan.grid.rows > 1 ? 2 * u : 0;
    vectors = 3 * rows.size() + columns + width;
    panels = plan.panels();
  }
  std::int64_t doubles() const { return matrix + panels * panel + u + gathered + vectors; }
};

inline constexpr std::int64_t most_order = 100'000'000;

// Block size: wide enough for an efficient BLAS if the matrix is large, narrow enough to keep all ranks busy to the
// end.
inline std::int64_t automatic_block(std::int64_t order, GridShape grid) {
  constexpr std::int64_t best = 192, turns = 8;
  const std::int64_t share = order / (turns * std::max(grid.rows, grid.columns));
  return std::clamp<std::int64_t>(share / 8 * 8, std::min<std::int64_t>(order, 8), best);
}

// Returns `plan` with this order and with blocks of the given size; 0 chooses it automatically.
inline Plan of_order(Plan plan, std::int64_t order, std::int64_t given_block) {
  plan.order = order;
  plan.block = given_block ? given_block : automatic_block(order, plan.grid);
  return plan;
}

// Returns the plan with the largest order, at least 1, that fits into `doubles` doubles per rank.
inline Plan largest(const Plan& plan, std::int64_t doubles, std::int64_t given_block) {
  std::int64_t low = 1, high = most_order;
  while (low < high) {
    const std::int64_t order = (low + high + 1) / 2;
    if (Places(of_order(plan, order, given_block)).doubles() <= doubles)
      low = order;
    else
      high = order - 1;
  }
  return of_order(plan, low, given_block);
}

}  // namespace kiviat
