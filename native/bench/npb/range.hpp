// A part of an axis: which planes, rows or points of a grid, or rows of a matrix, a rank has or computes.
#pragma once

#include <cstdint>

namespace kiviat::npb {

struct Range {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
  bool contains(std::int64_t index) const { return begin <= index && index < end; }
  bool operator==(const Range&) const = default;
};

}  // namespace kiviat::npb
