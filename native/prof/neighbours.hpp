// With whom neighbourhood collectives of a communicator exchange, as its topology says.
#pragma once

#include <mpi.h>

#include <vector>

namespace kiviat::prof {

// Ranks of the communicator, or MPI_PROC_NULL, in the order of the parts; empty where there is no topology.
struct Neighbours {
  std::vector<int> from, to;
};

Neighbours neighbours_of(MPI_Comm comm);

}  // namespace kiviat::prof
