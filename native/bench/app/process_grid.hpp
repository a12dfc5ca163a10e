// Number of ranks along each side of a box.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

namespace kiviat::app {

using Sides = std::array<int, 3>;

// Rank 0 is at the origin, rank 1 next to it along x.
struct ProcessGrid {
  Sides ranks;

  // Returns the grid whose subdomains have the smallest surface; of several such grids, the one that divides the later
  // sides (z), which send less. Returns nothing if a subdomain would be smaller than a cell of the crystal. `weak`:
  // `cells` is per rank.
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
  // Half of the surface of the whole box if each rank has `cells`; smallest for the most cubic box.
  double surface_of_all(const Cells& cells) const {
    return surface(static_cast<double>(cells[0]) * ranks[0], static_cast<double>(cells[1]) * ranks[1],
                   static_cast<double>(cells[2]) * ranks[2]);
  }
  bool has_cells_for_each(const Cells& cells) const {
    return cells[0] >= ranks[0] && cells[1] >= ranks[1] && cells[2] >= ranks[2];
  }
};

}  // namespace kiviat::app
