// A rank's part of the grid of LU. The grid is divided along x and y; each rank has all points along z (NAS-95-020,
// section 3.4).
#pragma once

#include <mpi.h>

#include <array>

#include "bench/npb/diagonals.hpp"
#include "bench/npb/flow.hpp"

namespace kiviat::npb::ssor {

// Grid of ranks, as square as possible, with px >= py.
struct Grid {
  int px, py;
  static Grid of(int ranks) {
    int py = 1;
    for (int divisor = 2; divisor * divisor <= ranks; ++divisor)
      if (ranks % divisor == 0) py = divisor;
    return {ranks / py, py};
  }
  // True if each part is at least as thick as the halo of its neighbours.
  bool fits(std::int64_t n) const { return n / px >= Diagonals::around; }
};

// The part of one rank of a cube with n points along each axis.
struct Part {
  static Part of(std::int64_t n, int ranks, int rank) {
    const Grid grid = Grid::of(ranks);
    const int x = rank % grid.px, y = rank / grid.px;
    const auto share = [n](int mine, int parts) { return Range{n * mine / parts, n * (mine + 1) / parts}; };
    return {n,
            share(x, grid.px),
            share(y, grid.py),
            x > 0 ? rank - 1 : MPI_PROC_NULL,
            x + 1 < grid.px ? rank + 1 : MPI_PROC_NULL,
            y > 0 ? rank - grid.px : MPI_PROC_NULL,
            y + 1 < grid.py ? rank + grid.px : MPI_PROC_NULL};
  }

  std::int64_t n;
  Range x, y;
  int west, east, south, north;  // MPI_PROC_NULL where the grid ends

  // The rank's points that are not on a face of the grid.
  Range inner_x() const { return inner(x); }
  Range inner_y() const { return inner(y); }
  Diagonals shape() const {
    const Range i = inner_x(), j = inner_y();
    return {x.size(), y.size(), {i.begin - x.begin, i.end - x.begin}, {j.begin - y.begin, j.end - y.begin}};
  }
  std::int64_t planes() const { return n - 2; }  // number of computed planes
  bool on_face(std::int64_t i, std::int64_t j, std::int64_t k) const {
    const auto last = [&](std::int64_t at) { return at == 0 || at == n - 1; };
    return last(i) || last(j) || last(k);
  }
  double coordinate(std::int64_t i) const { return static_cast<double>(i) / static_cast<double>(n - 1); }

 private:
  Range inner(Range all) const { return {std::max<std::int64_t>(all.begin, 1), std::min(all.end, n - 1)}; }
};

}  // namespace kiviat::npb::ssor
