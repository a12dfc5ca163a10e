#include "platform/node.hpp"

#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "platform/native/memory_limits.hpp"
#include "platform/native/processors.hpp"
#include "platform/native/same_kernel.hpp"

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

// Returns the smallest number over all kernels; infinity if the system does not report processors.
double processors_per_rank(MPI_Comm world) {
  const SameKernel here(world);
  Mask mask = processors_of_this_rank(), all{};
  MPI_Allreduce(mask.data(), all.data(), mask_words, MPI_UNSIGNED_LONG, MPI_BOR, here.comm);
  int processors = 0;
  for (const unsigned long word : all) processors += static_cast<int>(std::bitset<64>(word).count());
  const double of_each = processors > 0 ? static_cast<double>(processors) / here.ranks : INFINITY;
  double fewest;
  MPI_Allreduce(&of_each, &fewest, 1, MPI_DOUBLE, MPI_MIN, world);
  return fewest;
}

std::size_t memory_share_bytes(MPI_Comm world) {
  const SameKernel here(world);
  constexpr std::size_t most_groups = 16;
  std::vector<GroupLimit> limits = group_limits();
  limits.resize(std::min(limits.size(), most_groups));
  std::vector<std::uint64_t> own(most_groups), all(most_groups * here.ranks);
  std::ranges::transform(limits, own.begin(), &GroupLimit::group);
  MPI_Allgather(own.data(), most_groups, MPI_UINT64_T, all.data(), most_groups, MPI_UINT64_T, here.comm);

  std::size_t share = std::min(available_memory_bytes() / here.ranks, address_space_left_bytes());
  for (const GroupLimit& limit : limits)
    share = std::min(share, limit.free_bytes / std::ranges::count(all, limit.group));
  return share;
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

void* allocate(std::size_t bytes) { return std::malloc(bytes); }

void release(void* memory) { std::free(memory); }

bool carries_payload() { return true; }

void sends_from_memory(bool) {}

double refill_s() {
  const char* given = std::getenv("KIVIAT_REFILL");
  return given ? std::strtod(given, nullptr) : 0;
}

int settling_calls() { return 0; }
int averaged_calls() { return 1; }

}  // namespace kiviat::host
