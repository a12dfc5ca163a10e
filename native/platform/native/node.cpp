#include "platform/node.hpp"

#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "platform/native/processors.hpp"

namespace kiviat::host {
namespace {

// Formats a mask as "0-3,8".
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

// Communicator of the ranks on this node.
struct Node {
  explicit Node(MPI_Comm world) {
    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    MPI_Comm_size(comm, &ranks);
  }
  ~Node() { MPI_Comm_free(&comm); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  MPI_Comm comm;
  int ranks;
};

// Memory of this node available to programs, in bytes; SIZE_MAX if the kernel does not report it.
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

// Identifies a node: hosts by name; containers and emulated nodes on one host also by the namespace of their shared
// memory. MPI_Comm_split_type is not used, because some launchers treat each line of a host file as a node.
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

Place place() {
  Place mine{};
  int length;
  MPI_Get_processor_name(mine.host, &length);
  std::snprintf(mine.node, sizeof mine.node, "%s", node_identity(mine.host).c_str());
  const Mask mask = processors_of_this_rank();
  std::snprintf(mine.cpus, sizeof mine.cpus, "%s", ranges(mask).c_str());
  std::snprintf(mine.sockets, sizeof mine.sockets, "%s", ranges(sockets_of(mask)).c_str());
  mine.pid = static_cast<int>(getpid());
  return mine;
}

std::string node() {
  char host[MPI_MAX_PROCESSOR_NAME];
  int length;
  MPI_Get_processor_name(host, &length);
  return node_identity(host);
}

// Returns the smallest number over all nodes; infinity if the system does not report processors.
double processors_per_rank(MPI_Comm world) {
  const Node node(world);
  Mask mask = processors_of_this_rank(), all{};
  MPI_Allreduce(mask.data(), all.data(), mask_words, MPI_UNSIGNED_LONG, MPI_BOR, node.comm);
  int processors = 0;
  for (const unsigned long word : all) processors += static_cast<int>(std::bitset<64>(word).count());
  const double here = processors > 0 ? static_cast<double>(processors) / node.ranks : INFINITY;
  double fewest;
  MPI_Allreduce(&here, &fewest, 1, MPI_DOUBLE, MPI_MIN, world);
  return fewest;
}

std::size_t memory_share_bytes(MPI_Comm world) { return available_memory_bytes() / Node(world).ranks; }

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

void* allocate(std::size_t bytes) { return std::malloc(bytes); }

void release(void* memory) { std::free(memory); }

bool carries_payload() { return true; }

void sends_from_memory(bool) {}

void rest() {}

int settling_calls() { return 0; }
int averaged_calls() { return 1; }

}  // namespace kiviat::host
