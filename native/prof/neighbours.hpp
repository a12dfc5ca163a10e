// Neighbours of a rank in the topology of a communicator, for neighbourhood collectives.
#pragma once

#include <mpi.h>

#include <vector>

namespace kiviat::prof {

// Ranks of the communicator, or MPI_PROC_NULL, in the order of the buffer's parts; empty without a topology.
struct Neighbours {
  std::vector<int> from, to;
};

Neighbours neighbours_of(MPI_Comm comm);

}  // namespace kiviat::prof
