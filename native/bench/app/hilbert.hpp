// Position of a cell of a cube on Hilbert's curve through all of its cells (C. Hamilton and A. Rau-Chaplin, "Compact
// Hilbert indices", Inf. Process. Lett. 105(5), 2008, section 2): neighbours on the curve are neighbours in space.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace kiviat::app {

// Returns the position; coordinates must be below 2^bits, bits at most 21.
inline std::uint64_t hilbert_index(const std::array<std::uint32_t, 3>& cell, int bits) {
  constexpr unsigned all = 7;  // a bit for each side
  const auto to_left = [](unsigned word, unsigned by) { return ((word << by) | (word >> (3 - by))) & all; };
  const auto to_right = [&](unsigned word, unsigned by) { return to_left(word, (3 - by) % 3); };
  const auto gray = [](unsigned i) { return i ^ (i >> 1); };
  std::uint64_t index = 0;
  unsigned entry = 0,
           direction = 0;  // corner at which the curve enters the current cube, and side along which it leaves
  for (int level = bits - 1; level >= 0; --level) {
    unsigned corner = 0;
    for (unsigned side = 0; side < 3; ++side) corner |= ((cell[side] >> level) & 1u) << side;
    const unsigned turned = to_right(corner ^ entry, (direction + 1) % 3);
    const unsigned at = turned ^ (turned >> 1) ^ (turned >> 2);  // inverse Gray code
    index = index << 3 | at;
    const unsigned enters = at == 0 ? 0 : gray((at - 1) & ~1u);
    const unsigned leaves = at == 0 ? 0 : static_cast<unsigned>(std::countr_one(at % 2 == 0 ? at - 1 : at)) % 3;
    entry ^= to_left(enters, (direction + 1) % 3);
    direction = (direction + leaves + 1) % 3;
  }
  return index;
}

}  // namespace kiviat::app
