// Distribution of a three-dimensional transform over ranks: slabs while every rank gets a plane of each side, else
// pencils. D. Bailey et al., NAS-95-020, 1995, section 3.5 (FT).
//
// Ranks form a rectangle of `across` by `along`, with one column for slabs. Elements lie, beginning with the
// slowest index, as
//
//     (z part, y part of `across`, x)    where x is transformed, and in space
//     (z part, y, x part of `across`)    where y is
//     (z, y part of `along`, x part)     where z is, and in wave numbers
//
// so that x and y change places among ranks of one row, y and z among those of one column.
#pragma once

#include <algorithm>
#include <cstdint>

namespace kiviat::npb {

struct FourierShape {
  // For `ranks` ranks; all numbers must be powers of two. If there are too many ranks, `across` is 0.
  FourierShape(std::int64_t x_points, std::int64_t y_points, std::int64_t z_points, std::int64_t ranks)
      : nx(x_points), ny(y_points), nz(z_points) {
    const std::int64_t most_across = std::min(nx, ny), most_along = std::min(ny, nz);
    across = 1;
    if (ranks > std::min({nx, ny, nz}))
      while (across * across * 4 <= ranks) across *= 2;
    while (ranks / across > most_along) across *= 2;
    along = ranks / across;
    if (across > most_across) across = 0;
  }

  std::int64_t elements() const { return nx * ny * nz; }
  std::int64_t x_part() const { return nx / across; }
  std::int64_t y_part_across() const { return ny / across; }
  std::int64_t y_part_along() const { return ny / along; }
  std::int64_t z_part() const { return nz / along; }
  std::int64_t part() const { return elements() / across / along; }

  std::int64_t nx, ny, nz, across, along;
};

}  // namespace kiviat::npb
