#include "prof/location.hpp"

#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

namespace kiviat::prof {
namespace {

constexpr int most_processors = 4096;
using Mask = std::array<unsigned long, most_processors / 64>;

bool has(const Mask& mask, int processor) { return mask[processor / 64] >> (processor % 64) & 1; }

int read_number(const std::string& path, int otherwise) {
  int value = otherwise;
  if (std::FILE* file = std::fopen(path.c_str(), "r")) {
    if (std::fscanf(file, "%d", &value) != 1) value = otherwise;
    std::fclose(file);
  }
  return value;
}

// Formats a mask as "0-3,8".
std::string ranges(const Mask& mask) {
  std::string words;
  for (int first = 0; first < most_processors; ++first) {
    if (!has(mask, first)) continue;
    int last = first;
    while (last + 1 < most_processors && has(mask, last + 1)) ++last;
    if (!words.empty()) words += ',';
    words.append(std::to_string(first));
    if (last > first) words.append(1, '-').append(std::to_string(last));
    first = last;
  }
  return words;
}

std::set<int> sockets_of(const Mask& mask) {
  std::set<int> found;
  for (int processor = 0; processor < most_processors; ++processor)
    if (has(mask, processor))
      found.insert(
          read_number("/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/physical_package_id", -1));
  return found;
}

// All online processors of the node, also those outside this process's affinity.
Mask online() {
  Mask mask{};
  if (std::FILE* file = std::fopen("/sys/devices/system/cpu/online", "r")) {
    for (int first = 0; std::fscanf(file, "%d", &first) == 1;) {
      int last = first;
      if (std::fscanf(file, "-%d", &last) != 1) last = first;
      for (int one = first; one <= last && one < most_processors; ++one) mask[one / 64] |= 1ul << (one % 64);
      if (std::fgetc(file) != ',') break;
    }
    std::fclose(file);
  }
  return mask;
}

std::uint64_t hash(const std::string& words) {  // FNV-1a
  std::uint64_t value = 0xcbf29ce484222325u;
  for (const char letter : words) value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  return value;
}

}  // namespace

Location location() {
  Location mine{};
  char name[256] = {}, shared_memory[64] = {};
  gethostname(name, sizeof name - 1);
  if (readlink("/proc/self/ns/ipc", shared_memory, sizeof shared_memory - 1) < 0) shared_memory[0] = 0;
  mine.host = name;
  mine.node_name = mine.host + " " + shared_memory;
  mine.node = hash(mine.node_name);
  Mask mask{};
  sched_getaffinity(0, sizeof mask, reinterpret_cast<cpu_set_t*>(mask.data()));
  mine.cpus = ranges(mask);
  const std::set<int> allowed = sockets_of(mask), all = sockets_of(online());
  mine.socket = allowed.size() == 1 ? *allowed.begin() : -1;
  mine.sockets = static_cast<int>(all.size());
  return mine;
}

std::string program() {
  char path[4096] = {};
  if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return "";
  const char* const last = std::strrchr(path, '/');
  return last ? last + 1 : path;
}

bool read_interfaces(std::uint64_t& sent, std::uint64_t& received) {
  DIR* const folder = opendir("/sys/class/net");
  if (!folder) return false;
  sent = received = 0;
  bool found = false;
  while (const dirent* const entry = readdir(folder)) {
    const std::string name = entry->d_name;
    if (name[0] == '.' || name == "lo") continue;
    for (const auto& [direction, total] : {std::pair{"tx_bytes", &sent}, std::pair{"rx_bytes", &received}})
      if (std::FILE* file = std::fopen(("/sys/class/net/" + name + "/statistics/" + direction).c_str(), "r")) {
        unsigned long long bytes = 0;
        if (std::fscanf(file, "%llu", &bytes) == 1) *total += bytes, found = true;
        std::fclose(file);
      }
  }
  closedir(folder);
  return found;
}

}  // namespace kiviat::prof
