// A periodic box that is divided evenly among ranks along three sides.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "bench/app/crystal.hpp"

namespace kiviat::app {

using Sides = std::array<int, 3>;

// How many ranks there are along each side. Rank 0 is at the origin, rank 1 beside it along x.
struct ProcessGrid {
  Sides ranks;

  // The grid whose subdomains have the least surface; of equal ones that which divides the higher sides, along which less has
  // to be sent. A subdomain is a cell of the crystal at least. `weak`: each rank has `cells`.
  static std::optional<ProcessGrid> of(int ranks, const std::array<std::int64_t, 3>& cells, bool weak) {
    std::optional<ProcessGrid> best;
    double least = std::numeric_limits<double>::infinity();
    for (int x = 1; x <= ranks; ++x) {
      if (ranks % x != 0) continue;
      for (int y = 1; y <= ranks / x; ++y) {
        if (ranks / x % y != 0) continue;
        const ProcessGrid grid{{x, y, ranks / x / y}};
        const double surface = weak ? grid.surface_of_all(cells) : grid.surface_of_each(cells);
        if (!(weak || grid.has_cells_for_each(cells)) || surface >= least * (1 - 1e-12)) continue;
        best = grid, least = surface;
      }
    }
    return best;
  }

  int rank_at(const Sides& place) const { return place[0] + ranks[0] * (place[1] + ranks[1] * place[2]); }
  Sides place_of(int rank) const { return {rank % ranks[0], rank / ranks[0] % ranks[1], rank / ranks[0] / ranks[1]}; }

 private:
  using Cells = std::array<std::int64_t, 3>;
  static double surface(double x, double y, double z) { return x * y + y * z + z * x; }
  double surface_of_each(const Cells& cells) const {
    return surface(static_cast<double>(cells[0]) / ranks[0], static_cast<double>(cells[1]) / ranks[1],
                   static_cast<double>(cells[2]) / ranks[2]);
  }
  // Where each rank has as much, the box that is nearest to a cube.
  double surface_of_all(const Cells& cells) const {
    return surface(static_cast<double>(cells[0]) * ranks[0], static_cast<double>(cells[1]) * ranks[1],
                   static_cast<double>(cells[2]) * ranks[2]);
  }
  bool has_cells_for_each(const Cells& cells) const {
    return cells[0] >= ranks[0] && cells[1] >= ranks[1] && cells[2] >= ranks[2];
  }
};

// What one rank has of the box.
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
  // What is to be added to coordinates along a side that go one step on, for the box is periodic.
  double shift(std::size_t side, int step) const {
    if (step < 0 && place[side] == 0) return box[side];
    if (step > 0 && place[side] + 1 == grid.ranks[side]) return -box[side];
    return 0;
  }
  // The same place in the box; from 0 up to its edge, without that.
  double wrapped(std::size_t side, double at) const {
    if (at < 0) at += box[side];
    else if (at >= box[side]) at -= box[side];
    return at == box[side] ? 0 : at;  // what is a hair below 0 is not there when the edge has been added
  }

 private:
  // The same number on both ranks that it divides; the last one is the box's own, which rounding could miss.
  double bound(std::size_t side, int number) const {
    return number == grid.ranks[side] ? box[side] : box[side] * number / grid.ranks[side];
  }
};

}  // namespace kiviat::app
