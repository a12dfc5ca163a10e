#include "trace/replay/scratch.hpp"

#include <smpi/smpi.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace kiviat::trace {

// SMPI_SHARED_MALLOC maps one physical block repeatedly, but each mapping counts as memory of the process.
char* scratch(std::size_t bytes) {
  static void* place = nullptr;
  static std::size_t room = 0;
  constexpr std::size_t least = std::size_t{1} << 20, doubled = std::size_t{8} << 30;
  if (bytes >= room) {
    const std::size_t wanted = std::max({bytes + 1, least, std::min(2 * room, doubled)});
    // Tries to map memory first, because SMPI_SHARED_MALLOC ends the process if it fails.
    void* const tried = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (tried == MAP_FAILED) throw std::bad_alloc();
    munmap(tried, wanted);
    place = SMPI_SHARED_MALLOC(wanted);
    room = wanted;
  }
  return static_cast<char*>(place);
}

}  // namespace kiviat::trace
