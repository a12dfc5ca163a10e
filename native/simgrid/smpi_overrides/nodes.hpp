// Decomposition of a communicator by nodes. SMPI's own treats a host as a node, but here a host is a core.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "simgrid/communicator.hpp"

namespace kiviat::sim {

// Its communicators are marked so that SMPI does not apply its own node-aware algorithms to them.
struct Nodes {
  MPI_Comm all;                        // all ranks
  std::vector<int> node_of, local_of;  // of each rank: number of its node, and its rank within the node
  std::vector<MPI_Comm> on;            // communicator of each node
  MPI_Comm leaders = nullptr;          // the first rank of each node; null with a single node, or one rank per node
};

// The decomposition as seen by one rank.
struct View {
  MPI_Comm all;
  const Nodes* nodes;  // null if algorithms without regard to nodes apply
  int rank, node, local;
  bool leads() const { return local == 0; }
  bool shares() const { return here()->size() > 1; }
  MPI_Comm here() const { return nodes->on[static_cast<std::size_t>(node)]; }
  MPI_Comm leaders() const { return nodes->leaders; }
  int node_of(int other) const { return nodes->node_of[static_cast<std::size_t>(other)]; }
  int local_of(int other) const { return nodes->local_of[static_cast<std::size_t>(other)]; }
};

// Returns the calling rank's view; the decomposition is computed once for all ranks.
View view(simgrid::smpi::Comm& comm);

// Returns whether all ranks of a communicator are on one node.
bool on_one_node(simgrid::smpi::Comm& comm);

}  // namespace kiviat::sim
