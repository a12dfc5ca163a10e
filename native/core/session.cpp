#include "core/session.hpp"

#include <sched.h>
#include <unistd.h>

#include <array>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/vendor.hpp"

namespace kiviat {
namespace {

constexpr int most_processors = 4096;
constexpr std::size_t mask_words = most_processors / 64;
using Mask = std::array<unsigned long, mask_words>;

Mask processors_of_this_rank() {
  Mask mask{};
  sched_getaffinity(0, sizeof mask, reinterpret_cast<cpu_set_t*>(mask.data()));
  return mask;
}

bool allowed(const Mask& mask, int processor) { return mask[processor / 64] >> (processor % 64) & 1; }

// "0-3,8"
std::string ranges(const Mask& mask) {
  std::string text;
  for (int first = 0; first < most_processors; ++first) {
    if (!allowed(mask, first)) continue;
    int last = first;
    while (last + 1 < most_processors && allowed(mask, last + 1)) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text.append("-").append(std::to_string(last));
    first = last;
  }
  return text;
}

int ranks_on_this_node(MPI_Comm node) {
  int ranks;
  MPI_Comm_size(node, &ranks);
  return ranks;
}

// On the node that has the fewest; as many as one likes where the system does not say.
double processors_per_rank_of(MPI_Comm world, MPI_Comm node) {
  Mask mask = processors_of_this_rank(), all{};
  MPI_Allreduce(mask.data(), all.data(), mask_words, MPI_UNSIGNED_LONG, MPI_BOR, node);
  int processors = 0;
  for (const unsigned long word : all) processors += static_cast<int>(std::bitset<64>(word).count());
  const double here = processors > 0 ? static_cast<double>(processors) / ranks_on_this_node(node) : INFINITY;
  double fewest;
  MPI_Allreduce(&here, &fewest, 1, MPI_DOUBLE, MPI_MIN, world);
  return fewest;
}

// Bytes that this node could still give to programs; all there is where the kernel does not say.
std::size_t available_memory_bytes() {
  std::size_t kibibytes = 0;
  if (std::FILE* file = std::fopen("/proc/meminfo", "r")) {
    char line[128];
    while (std::fgets(line, sizeof line, file))
      if (std::sscanf(line, "MemAvailable: %zu", &kibibytes) == 1) break;
    std::fclose(file);
  }
  return kibibytes ? kibibytes * 1024 : SIZE_MAX;
}

std::size_t last_level_cache_bytes() {
  std::size_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    char path[96];
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
    if (std::FILE* file = std::fopen(path, "r")) {
      std::size_t kibibytes = 0;
      if (std::fscanf(file, "%zuK", &kibibytes) == 1) largest = std::max(largest, kibibytes * 1024);
      std::fclose(file);
    }
  }
  return largest ? largest : std::size_t{64} << 20;
}

// What tells nodes apart: hosts by name, and containers or emulated nodes on one host by the namespace in
// which they share memory. MPI_Comm_split_type would do, but some launchers take each line of a host file
// for a node.
std::string node_identity(const char* host) {
  char shared_memory[64] = {};
  if (readlink("/proc/self/ns/ipc", shared_memory, sizeof shared_memory - 1) < 0) shared_memory[0] = 0;
  return std::string(host) + ' ' + shared_memory;
}

Mask sockets_of(const Mask& processors) {
  Mask sockets{};
  for (int processor = 0; processor < most_processors; ++processor) {
    if (!allowed(processors, processor)) continue;
    char path[96];
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", processor);
    int socket = -1;
    if (std::FILE* file = std::fopen(path, "r")) {
      if (std::fscanf(file, "%d", &socket) != 1) socket = -1;
      std::fclose(file);
    }
    if (socket >= 0 && socket < most_processors) sockets[socket / 64] |= 1ul << (socket % 64);
  }
  return sockets;
}

}  // namespace

Session::Session(MPI_Comm comm)
    : world(comm),
      clock_cost_s(clock::cost()),
      global_clock(comm),
      cache_bytes(last_level_cache_bytes()) {
  MPI_Comm node;
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  processors_per_rank = processors_per_rank_of(world, node);
  oversubscribed = processors_per_rank < 1;
  memory_share_bytes = available_memory_bytes() / ranks_on_this_node(node);
  MPI_Comm_free(&node);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
}

std::string Session::node() const {
  char host[MPI_MAX_PROCESSOR_NAME];
  int length;
  MPI_Get_processor_name(host, &length);
  return node_identity(host);
}

std::string Session::describe() const {
  struct Place {
    char host[MPI_MAX_PROCESSOR_NAME], node[MPI_MAX_PROCESSOR_NAME + 64], cpus[128], sockets[128];
    int pid;
  } mine{};
  int length;
  MPI_Get_processor_name(mine.host, &length);
  std::snprintf(mine.node, sizeof mine.node, "%s", node().c_str());
  const Mask mask = processors_of_this_rank();
  std::snprintf(mine.cpus, sizeof mine.cpus, "%s", ranges(mask).c_str());
  std::snprintf(mine.sockets, sizeof mine.sockets, "%s", ranges(sockets_of(mask)).c_str());
  mine.pid = static_cast<int>(getpid());
  std::vector<Place> places(rank == 0 ? size : 0);
  MPI_Gather(&mine, sizeof mine, MPI_BYTE, places.data(), sizeof mine, MPI_BYTE, 0, world);

  char library[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  MPI_Get_library_version(library, &length);
  int major, minor;
  MPI_Get_version(&major, &minor);
  int index = 0;
  std::map<std::string, int> nodes;  // numbered as they appear
  return json::Object()
      .field("event", "launch")
      .field("library", library)
      .field("mpi", vendor().name)
      .field("mpi_version", vendor().version)
      .field("standard", std::to_string(major) + "." + std::to_string(minor))
      .field("world", size)
      .field("compiler", KIVIAT_COMPILER)
      .field("flags", KIVIAT_FLAGS)
      .field("clock", clock::name())
      .field("clock_cost_s", clock_cost_s)
      .raw("ranks", json::array(places,
                                [&](const Place& place) {
                                  return json::Object()
                                      .field("rank", index++)
                                      .field("host", place.host)
                                      .field("node", nodes.try_emplace(place.node, static_cast<int>(nodes.size())).first->second)
                                      .field("pid", place.pid)
                                      .field("cpus", place.cpus)
                                      .field("sockets", place.sockets)
                                      .text();
                                }))
      .field("oversubscribed", oversubscribed)
      .text();
}

}  // namespace kiviat
