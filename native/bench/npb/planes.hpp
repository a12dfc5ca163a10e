// Access to the planes of a grid. Either all planes are stored, or only those that are still needed.
#pragma once

#include <cstdint>

#include "bench/npb/grid_levels.hpp"

namespace kiviat::npb {

class Planes {
 public:
  static constexpr int least_for_some = 4;

  // All planes of the grid whose point (0, 0, 0) is at `origin`.
  static Planes all(double* origin, const Box& box) { return {origin, box, false}; }
  // Stores the two lowest and the two highest planes, including the halo, permanently, and four planes between them in
  // turn.
  static Planes some(double* memory, const Box& box) { return {memory + first_of_some(box), box, true}; }
  static std::int64_t elements_of_some(const Box& box) { return first_of_some(box) + (kept + passing) * box.plane; }

  double* operator()(int z) const {
    if (!some_) return origin_ + z * plane_;
    const int slot = z <= 1 ? z + 1 : z >= points_ - 2 ? z - (points_ - 2) + kept / 2 : kept + z % passing;
    return origin_ + slot * plane_;
  }

 private:
  static constexpr int kept = 6, passing = 4;
  static std::int64_t first_of_some(const Box& box) { return box.row + Box::line; }
  Planes(double* origin, const Box& box, bool some)
      : origin_(origin), plane_(box.plane), points_(box.points[2]), some_(some) {}

  double* origin_;
  std::int64_t plane_;
  int points_;
  bool some_;
};

}  // namespace kiviat::npb
