// Block-cyclic distribution of matrices over a grid of ranks (Dongarra, van de Geijn, Walker, "Scalability issues
// affecting the design of a dense linear algebra library", 1994).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "bench/memory.hpp"

namespace kiviat {

// One dimension: `count` indices in blocks of `block`; block b belongs to part b mod parts. Member functions refer to
// part `mine`.
struct Cyclic {
  std::int64_t count, block;
  int parts, mine;

  std::int64_t blocks() const { return (count + block - 1) / block; }                      // of all parts together
  std::int64_t width(std::int64_t b) const { return std::min(block, count - b * block); }  // of block b
  int owner(std::int64_t index) const { return static_cast<int>(index / block % parts); }
  // Number of local indices below global index `end`; also the local index of the first one that is not below.
  std::int64_t before(std::int64_t end) const {
    const std::int64_t round = block * parts, rest = end % round - mine * block;
    return end / round * block + std::clamp<std::int64_t>(rest, 0, block);
  }
  std::int64_t size() const { return before(count); }
  std::int64_t global(std::int64_t local) const { return (local / block * parts + mine) * block + local % block; }
};

// Ranks are row-major in the grid: rank = row * columns + column.
struct GridShape {
  int rows, columns;
};

// Returns the grid nearest to a square, with at most as many rows as columns.
inline GridShape nearest_square(int ranks) {
  int rows = 1;
  for (int r = 1; r * r <= ranks; ++r)
    if (ranks % r == 0) rows = r;
  return {rows, ranks / rows};
}

inline constexpr Bounds sides_of_grid{1, largest_int};

inline Axis grid_rows_axis() {
  return {"p",
          "auto",
          "ranks",
          "rows of the rank grid; auto: the most nearly square grid, with at most as many rows as columns",
          {"auto", sides_of_grid}};
}
inline Axis grid_columns_axis() { return {"q", "auto", "ranks", "columns of the rank grid", {"auto", sides_of_grid}}; }

inline GridShape grid_shape(const Trial& t) {
  const std::int64_t ranks = t.ranks();
  const GridShape nearest = nearest_square(t.ranks());
  if (t.text("p") == "auto" && t.text("q") == "auto") return nearest;
  const std::int64_t given_rows = integer_or(t, "p", 0), given_columns = integer_or(t, "q", 0);
  const std::int64_t rows = given_rows ? given_rows : ranks / given_columns,
                     columns = given_columns ? given_columns : ranks / given_rows;
  if (rows * columns != ranks)
    throw UsageError("a grid of p=" + t.text("p") + " by q=" + t.text("q") + " does not have " + std::to_string(ranks) +
                     " ranks: give p and q with p x q = " + std::to_string(ranks));
  return {static_cast<int>(rows), static_cast<int>(columns)};
}

}  // namespace kiviat
