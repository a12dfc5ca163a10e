#include "prof/neighbours.hpp"

#include <cstddef>

#include "prof/real.hpp"

namespace kiviat::prof {

Neighbours neighbours_of(MPI_Comm comm) {
  Neighbours found;
  int topology = MPI_UNDEFINED;
  KIVIAT_PMPI(Topo_test)(comm, &topology);
  if (topology == MPI_CART) {
    int dimensions = 0;
    KIVIAT_PMPI(Cartdim_get)(comm, &dimensions);
    found.to.resize(2 * static_cast<std::size_t>(dimensions));
    for (int dimension = 0; dimension < dimensions; ++dimension)
      KIVIAT_PMPI(Cart_shift)(comm, dimension, 1, &found.to[2 * static_cast<std::size_t>(dimension)],
                              &found.to[2 * static_cast<std::size_t>(dimension) + 1]);
    found.from = found.to;
  } else if (topology == MPI_GRAPH) {
    int rank = 0, count = 0;
    KIVIAT_PMPI(Comm_rank)(comm, &rank);
    KIVIAT_PMPI(Graph_neighbors_count)(comm, rank, &count);
    found.to.resize(static_cast<std::size_t>(count));
    KIVIAT_PMPI(Graph_neighbors)(comm, rank, count, found.to.data());
    found.from = found.to;
  } else if (topology == MPI_DIST_GRAPH) {
    int in = 0, out = 0, weighted = 0;
    KIVIAT_PMPI(Dist_graph_neighbors_count)(comm, &in, &out, &weighted);
    found.to.resize(static_cast<std::size_t>(out)), found.from.resize(static_cast<std::size_t>(in));
    std::vector<int> weights_in(found.from.size()), weights_out(found.to.size());
    KIVIAT_PMPI(Dist_graph_neighbors)(comm, in, found.from.data(), weights_in.data(), out, found.to.data(),
                                      weights_out.data());
  }
  return found;
}

}  // namespace kiviat::prof
