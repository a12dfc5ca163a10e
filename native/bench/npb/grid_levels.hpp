// Distribution of MG's grids over a power of two of ranks. The grids are three-dimensional and periodic; each has half
// as many points a side as the next finer one. D. Bailey et al., NAS-95-020, 1995, section 3.3 (MG). Point c of a grid
// is point 2c + 1 of the next finer one, so a rank with 2m points along a side has m points of the coarser grid. If
// ranks have one point only, every second rank has none of the coarser grid. Points never move between ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kiviat::npb {

inline constexpr int sides = 3;  // x, y, z
using Place = std::array<int, sides>;

// Factors a power of two of ranks into a box, x fastest: z is halved first, then y, then x, then z again.
struct RankBox {
  explicit RankBox(int ranks) {
    for (std::size_t side = sides - 1; ranks > 1; ranks /= 2, side = (side + sides - 1) % sides) size[side] *= 2;
  }
  Place place_of(int rank) const { return {rank % size[0], rank / size[0] % size[1], rank / size[0] / size[1]}; }
  int rank_at(const Place& place) const { return place[0] + size[0] * (place[1] + size[1] * place[2]); }

  Place size{1, 1, 1};
};

// The points of rank `at` along a side that has n points and `ranks` ranks: those from `first` on, possibly none.
struct Segment {
  Segment(int n, int ranks, int at)
      : apart(n < ranks ? ranks / n : 1),
        points((at + 1) % apart != 0 ? 0
               : n < ranks           ? 1
                                     : n / ranks),
        first(n < ranks ? at / apart : at * points) {}
  int apart;  // distance between successive ranks that have points
  int points, first;
};

// Point c of the coarser segment is point 2c + offset of the finer one.
inline int offset_of(const Segment& fine, const Segment& coarse) { return fine.points == coarse.points ? 0 : 1; }

// Memory layout of a rank's part with a halo of one point. Rows start at cache lines; the halo point before a row lies
// at the end of the previous row.
struct Box {
  explicit Box(const Place& inner)
      : points(inner),
        row((points[0] + 2 + line - 1) / line * line),
        plane(row * (points[1] + 2)),
        origin(line * ((row + plane + line) / line)),
        elements(origin + plane * (points[2] + 1) + line) {}

  static constexpr std::int64_t line = 8;  // elements
  Place points;
  std::int64_t row, plane, origin, elements;
};

// One rank's part of one grid.
struct Level {
  Level(int edge, const RankBox& ranks, int rank)
      : n(edge),
        segments{segment(edge, ranks, rank, 0), segment(edge, ranks, rank, 1), segment(edge, ranks, rank, 2)},
        box({segments[0].points, segments[1].points, segments[2].points}) {}

  bool active() const { return box.points[0] > 0 && box.points[1] > 0 && box.points[2] > 0; }

  int n;
  std::array<Segment, sides> segments;
  Box box;

 private:
  static Segment segment(int n, const RankBox& ranks, int rank, std::size_t side) {
    return {n, ranks.size[side], ranks.place_of(rank)[side]};
  }
};

// Grids with 2, 4, …, n points a side.
inline std::vector<Level> levels_of(int n, const RankBox& ranks, int rank) {
  std::vector<Level> levels;
  for (int points = 2; points <= n; points *= 2) levels.emplace_back(points, ranks, rank);
  return levels;
}

}  // namespace kiviat::npb
