// Memory layout of a plane of a grid, by diagonals i + j = s. In a sweep, each point depends on its predecessors along
// x and y, which are on the previous diagonal; so all points of a diagonal can be computed at once. The points of a
// diagonal are contiguous: element origin(s) + j. Their neighbours along either axis are contiguous, too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/npb/range.hpp"

namespace kiviat::npb {

class Diagonals {
 public:
  // Width of the halo in points: points of other ranks, or outside of the grid.
  static constexpr std::int64_t around = 2;
  // Number of points computed at once; the last group of a diagonal may reach beyond its end.
  static constexpr std::int64_t group = 4;

  // The rank's points are 0 to nx - 1 along x and 0 to ny - 1 along y; only those in ranges `x` and `y` are computed.
  Diagonals(std::int64_t nx, std::int64_t ny, Range x, Range y) : x_(x), y_(y) {
    std::int64_t free = 0;
    for (std::int64_t s = -2 * around; s <= nx + ny - 2 + 2 * around; ++s) {
      const std::int64_t first = std::max(-around, s - nx + 1 - around), last = std::min(ny - 1 + around, s + around);
      const std::int64_t begin = computed(s).begin, length = std::max<std::int64_t>(0, computed(s).size());
      std::int64_t origin = free - first;
      if (length > 0) origin = rounded(free + begin - first) - begin;
      origins_.push_back(origin);
      free = std::max(origin + last + 1, origin + begin + rounded(length));
    }
    constexpr std::int64_t line = 8;
    size_ = ((free + line - 1) / line | 1) *
            line;  // an odd number of lines, so that the components of a point map to different cache sets
  }

  // Number of elements of a plane. Neighbours of computed points may be read up to `slack` elements beyond its ends.
  std::int64_t size() const { return size_; }
  static constexpr std::int64_t slack = 4 * group;

  std::int64_t at(std::int64_t i, std::int64_t j) const { return origin(i + j) + j; }
  std::int64_t origin(std::int64_t s) const { return origins_[static_cast<std::size_t>(s + 2 * around)]; }
  // Diagonals with computed points. The range of j on each begins at the first point of a group.
  Range diagonals() const { return {x_.begin + y_.begin, x_.end + y_.end - 1}; }
  Range computed(std::int64_t s) const {
    return {std::max(y_.begin, s - x_.end + 1), std::min(y_.end, s - x_.begin + 1)};
  }
  Range x() const { return x_; }
  Range y() const { return y_; }

  static constexpr std::int64_t rounded(std::int64_t points) { return (points + group - 1) / group * group; }

 private:
  Range x_, y_;
  std::vector<std::int64_t> origins_;
  std::int64_t size_;
};

}  // namespace kiviat::npb
