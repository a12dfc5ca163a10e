// A range [begin, end) of planes, rows or points along an axis.
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
