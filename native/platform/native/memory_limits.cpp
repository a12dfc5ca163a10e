#include "platform/native/memory_limits.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>

namespace kiviat::host {
namespace {

// Names of the files of a control group.
struct Files {
  const char *limit, *used, *inactive, *active;
};
constexpr Files version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "total_active_file"};
constexpr Files version_2{"memory.max", "memory.current", "inactive_file", "active_file"};

// Returns the number in a file; nothing without one, such as "max".
std::optional<std::size_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::size_t number;
  return file >> number ? std::optional(number) : std::nullopt;
}

std::size_t file_caches_bytes(const std::string& group, const Files& files) {
  std::ifstream file(group + "/memory.stat");
  std::size_t sum = 0, bytes;
  for (std::string name; file >> name >> bytes;)
    if (name == files.inactive || name == files.active) sum += bytes;
  return sum;
}

std::optional<GroupLimit> limit_of(const std::string& group, const Files& files) {
  const auto limit = number_in(group + '/' + files.limit), used = number_in(group + '/' + files.used);
  struct stat about{};
  if (!limit || !used || stat(group.c_str(), &about)) return {};
  const std::size_t taken = *used - std::min(*used, file_caches_bytes(group, files));
  return GroupLimit{about.st_ino ^ std::uint64_t{about.st_dev} << 40, *limit - std::min(*limit, taken)};
}

bool names_memory(const std::string& controllers) {
  return (',' + controllers + ',').find(",memory,") != std::string::npos;
}

}  // namespace

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

std::vector<GroupLimit> group_limits(const std::string& root) {
  std::vector<GroupLimit> limits;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // number:controllers:path
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !names_memory(controllers)) continue;
    const std::string top = root + (controllers.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory");
    // In a container, folders below the top may be missing: the path is the host's.
    for (std::string group = line.substr(second + 1);; group.resize(group.rfind('/'))) {
      if (group == "/") group.clear();
      if (const auto limit = limit_of(top + group, controllers.empty() ? version_2 : version_1))
        limits.push_back(*limit);
      if (group.empty()) break;
    }
  }
  return limits;
}

std::size_t address_space_left_bytes() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages;
  return limit.rlim_cur - std::min<std::size_t>(limit.rlim_cur, pages * static_cast<std::size_t>(getpagesize()));
}

}  // namespace kiviat::host
