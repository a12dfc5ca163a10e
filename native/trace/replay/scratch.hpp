// Message buffers whose contents are irrelevant: one block shared by all ranks, which the simulator never copies.
#pragma once

#include <cstddef>
#include <utility>

#include "trace/format.hpp"

namespace kiviat::trace {

// Limit on the bytes that one call sends or receives. The simulator maps the block in pieces of 1 MiB, earlier smaller
// blocks stay mapped, and Linux allows a process 65,530 mappings.
inline constexpr Word most_bytes = Word{16} << 30;

// Returns a buffer of at least `bytes`. Throws std::bad_alloc if the address space is exhausted.
char* scratch(std::size_t bytes);

// Returns disjoint send and receive buffers, as MPI requires.
inline std::pair<char*, char*> scratch(std::size_t out, std::size_t in) {
  const std::size_t at = (out + 64) & ~std::size_t{63};
  char* const place = scratch(at + in);
  return {place, place + at};
}

}  // namespace kiviat::trace
