// The nodes of the ranks of a communicator.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "platform/node.hpp"

namespace kiviat {

// Returns the node of each rank; nodes are numbered in order of appearance. Collective.
inline std::vector<int> nodes_of(MPI_Comm comm) {
  const std::uint64_t mine = std::hash<std::string>{}(host::node());
  int ranks;
  MPI_Comm_size(comm, &ranks);
  std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks));
  MPI_Allgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, comm);
  std::map<std::uint64_t, int> numbers;
  std::vector<int> nodes;
  for (const std::uint64_t node : all)
    nodes.push_back(numbers.try_emplace(node, static_cast<int>(numbers.size())).first->second);
  return nodes;
}

}  // namespace kiviat
