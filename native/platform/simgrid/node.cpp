// Location of a simulated rank: a core of a simulated node, described by the platform (simgrid/platform.cpp).
#include "platform/node.hpp"

#include <smpi/smpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Host.hpp>

#include "simgrid/sent.hpp"

namespace kiviat::host {
namespace {

const char* property(const char* name) {
  const char* value = simgrid::s4u::this_actor::get_host()->get_property(name);
  return value ? value : "";
}

std::size_t bytes_property(const char* name) { return std::strtoull(property(name), nullptr, 10); }

// Returns whether messages carry payload and are checked (KIVIAT_VERIFY=1), which makes simulations much slower.
bool verifying() {
  const char* asked = std::getenv("KIVIAT_VERIFY");
  return asked && *asked == '1';
}

}  // namespace

Place place() {
  Place mine{};
  std::snprintf(mine.host, sizeof mine.host, "%s", property("node"));
  std::snprintf(mine.node, sizeof mine.node, "%s", property("node"));
  std::snprintf(mine.cpus, sizeof mine.cpus, "%s", property("core"));
  std::snprintf(mine.sockets, sizeof mine.sockets, "%s", property("socket"));
  return mine;
}

std::string node() { return property("node"); }

// A host of the simulator is one core; the launcher decides how many ranks share it.
double processors_per_rank(MPI_Comm) { return 1; }

std::size_t memory_share_bytes(MPI_Comm) { return bytes_property("memory_bytes"); }

std::size_t last_level_cache_bytes() { return bytes_property("cache_bytes"); }

// Without payload checks, all buffers of all ranks share one block, which the simulator does not copy.
void* allocate(std::size_t bytes) {
  if (verifying()) return std::malloc(bytes);
  static void* place = nullptr;
  static std::size_t room = 0;
  if (bytes > room) {
    // One physical block is mapped repeatedly, but each mapping counts as memory of the process, so sizes are doubled.
    room = std::max({bytes, 2 * room, std::size_t{1} << 20});
    place = SMPI_SHARED_MALLOC(room);
  }
  return place;
}

void release(void* memory) {
  if (verifying()) std::free(memory);
}

bool carries_payload() { return verifying(); }

double refill_s() { return std::strtod(property("refill_s"), nullptr); }

void sends_from_memory(bool rotating) {
  simgrid::s4u::this_actor::get_host()->get_data<Sent>()->from_memory = rotating;
}

// A bucket (simgrid/bucket.hpp) empties gradually during a sequence of short messages, until times settle.
int settling_calls() { return *property("refill_s") ? 64 : 0; }
int averaged_calls() { return *property("refill_s") ? 16 : 1; }

}  // namespace kiviat::host
