// A periodic box that is divided evenly among ranks along three sides.
#pragma once

#include <cstddef>

#include "bench/app/crystal.hpp"
#include "bench/app/process_grid.hpp"

namespace kiviat::app {

// The part of the box on one rank.
struct Subdomain {
  ProcessGrid grid;
  Sides place;
  Vector box, low, high;

  Subdomain(const Crystal& crystal, const ProcessGrid& process_grid, int rank)
      : grid(process_grid), place(process_grid.place_of(rank)) {
    for (std::size_t side = 0; side < 3; ++side) {
      box[side] = crystal.edge(side);
      low[side] = bound(side, place[side]), high[side] = bound(side, place[side] + 1);
    }
  }
  double thickness(std::size_t side) const { return box[side] / grid.ranks[side]; }
  // The rank that is one `step` (1 or -1) farther along a side.
  int neighbour(std::size_t side, int step) const {
    Sides other = place;
    other[side] = (place[side] + step + grid.ranks[side]) % grid.ranks[side];
    return grid.rank_at(other);
  }
  // Offset to add to coordinates of atoms sent one step along a side, because the box is periodic.
  double shift(std::size_t side, int step) const {
    if (step < 0 && place[side] == 0) return box[side];
    if (step > 0 && place[side] + 1 == grid.ranks[side]) return -box[side];
    return 0;
  }
  // Wraps a coordinate into the periodic box, [0, edge).
  double wrapped(std::size_t side, double at) const {
    if (at < 0)
      at += box[side];
    else if (at >= box[side])
      at -= box[side];
    return at == box[side] ? 0 : at;  // a tiny negative number plus the edge may round to the edge
  }

 private:
  // Position of boundary `number`, bitwise equal on both adjacent ranks. The last boundary is exactly the edge of the
  // box, which rounding could miss.
  double bound(std::size_t side, int number) const {
    return number == grid.ranks[side] ? box[side] : box[side] * number / grid.ranks[side];
  }
};

}  // namespace kiviat::app
