// Memory that this process may still take: of the machine, of its control groups, of its address space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kiviat::host {

// Returns the memory that the kernel could give to programs, in bytes; SIZE_MAX if it does not say.
std::size_t available_memory_bytes();

// A control group with a memory limit: a job, a step of it, or a container.
struct GroupLimit {
  std::uint64_t group;     // equal for all processes of the group
  std::size_t free_bytes;  // that its processes may take together; file caches, which give way, count as free
};

// Returns the limits of this process's control group and of those that contain it, versions 1 and 2. Paths begin at
// `root`.
std::vector<GroupLimit> group_limits(const std::string& root = "");

// Returns the address space that this process may still map, in bytes; SIZE_MAX without a limit (ulimit -v).
std::size_t address_space_left_bytes();

}  // namespace kiviat::host
