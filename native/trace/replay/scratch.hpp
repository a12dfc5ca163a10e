// Memory for messages that nobody looks at: one place for all ranks, which the simulator does not copy.
#pragma once

#include <cstddef>
#include <utility>

#include "core/host.hpp"

namespace kiviat::trace {

inline char* scratch(std::size_t bytes) { return static_cast<char*>(host::allocate(bytes + 1)); }

// For what is sent and for what is received; they must not be the same.
inline std::pair<char*, char*> scratch(std::size_t out, std::size_t in) {
  const std::size_t at = (out + 64) & ~std::size_t{63};
  char* const place = scratch(at + in);
  return {place, place + at};
}

}  // namespace kiviat::trace
