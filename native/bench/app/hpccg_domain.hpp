// Domain of HPCCG, a tall box with nx × ny points per plane, and the matrix of its 27-point operator. The planes are
// distributed over the ranks from the bottom up. Point (x, y, z) is row x + nx (y + ny z); its neighbours are the up to
// 26 points around it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace kiviat::app {

// The part of one rank: planes first_z .. first_z + nz - 1 of `all_z`.
struct HpccgDomain {
  static constexpr double diagonal = 27, off_diagonal = -1;

  std::int64_t nx, ny, nz, first_z, all_z;

  // nx × ny × nz points on each rank.
  static HpccgDomain weak(std::int64_t nx, std::int64_t ny, std::int64_t nz, int ranks, int rank) {
    return {nx, ny, nz, nz * rank, nz * ranks};
  }
  // nx × ny × nz points in total; if planes do not divide evenly, the lowest ranks have one more.
  static HpccgDomain strong(std::int64_t nx, std::int64_t ny, std::int64_t nz, int ranks, int rank) {
    const std::int64_t each = nz / ranks, more = nz % ranks;
    return {nx, ny, each + (rank < more ? 1 : 0), each * rank + std::min<std::int64_t>(rank, more), nz};
  }

  bool has_below() const { return first_z > 0; }
  bool has_above() const { return first_z + nz < all_z; }
  std::int64_t plane() const { return nx * ny; }
  std::int64_t rows() const { return plane() * nz; }
  std::int64_t all_rows() const { return plane() * all_z; }
  // Along a line of n points there are 3 n - 2 pairs of neighbours, counting a point as its own neighbour.
  std::int64_t nonzeros() const {
    return (3 * nx - 2) * (3 * ny - 2) * (3 * nz - (has_below() ? 0 : 1) - (has_above() ? 0 : 1));
  }
  std::int64_t all_nonzeros() const { return (3 * nx - 2) * (3 * ny - 2) * (3 * all_z - 2); }

  // Number of columns of this rank: the plane below, its own planes, the plane above, also at the ends of the domain.
  // So the diagonal element of row i is in column i + plane().
  std::int64_t columns() const { return rows() + 2 * plane(); }

  // Calls use(column, value) for each element of row i of this rank.
  template <class Use>
  void each_element(std::int64_t i, Use use) const {
    const std::int64_t x = i % nx, y = i / nx % ny, z = first_z + i / plane();
    for (std::int64_t dz = z > 0 ? -1 : 0; dz <= (z + 1 < all_z ? 1 : 0); ++dz)
      for (std::int64_t dy = y > 0 ? -1 : 0; dy <= (y + 1 < ny ? 1 : 0); ++dy)
        for (std::int64_t dx = x > 0 ? -1 : 0; dx <= (x + 1 < nx ? 1 : 0); ++dx)
          use(i + plane() + dx + nx * (dy + ny * dz), dx == 0 && dy == 0 && dz == 0 ? diagonal : off_diagonal);
  }
};

}  // namespace kiviat::app
