// Memory for messages that nobody looks at: one place for all ranks, which the simulator does not copy.
#pragma once

#include <cstddef>
#include <utility>

#include "trace/format.hpp"

namespace kiviat::trace {

// Bytes of one call of a rank that the replayer makes, sent or received. The simulator maps the place 1 MiB at a time,
// all that was smaller before stays mapped too, and a process may have 65,530 mappings.
inline constexpr Word most_bytes = Word{16} << 30;

// Throws std::bad_alloc where there is no room.
char* scratch(std::size_t bytes);

// For what is sent and for what is received; they must not be the same.
inline std::pair<char*, char*> scratch(std::size_t out, std::size_t in) {
  const std::size_t at = (out + 64) & ~std::size_t{63};
  char* const place = scratch(at + in);
  return {place, place + at};
}

}  // namespace kiviat::trace
