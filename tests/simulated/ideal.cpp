// Ideal functions linked into original programs for comparison with Kiviat: a barrier that takes no time (as in
// native/platform/simgrid/rank_group.cpp), and random orders for b_eff.
#include <mpi.h>

#include <map>
#include <numeric>
#include <simgrid/s4u/Barrier.hpp>
#include <vector>

#include "bench/pattern/rings.hpp"

extern "C" int ideal_barrier(MPI_Comm comm) {
  static std::map<std::vector<int>, simgrid::s4u::BarrierPtr>
      barriers;  // shared by all ranks, because this library is not privatized
  int ranks;
  MPI_Comm_size(comm, &ranks);
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Comm_group(comm, &group);
  std::vector<int> here(ranks), members(ranks);
  std::iota(here.begin(), here.end(), 0);
  MPI_Group_translate_ranks(group, ranks, here.data(), world, members.data());
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  auto& barrier = barriers[members];
  if (!barrier) barrier = simgrid::s4u::Barrier::create(static_cast<unsigned>(ranks));
  barrier->wait();
  return MPI_SUCCESS;
}

// Replaces drand48. b_eff asks on rank 0 for the position of rank 0, 1, … in pattern 0, 1, ….
extern "C" double ordered_position() {
  static int pattern = 0, rank = 0;
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::vector<int> order = kiviat::random_order(ranks, 1 + pattern);
  const double position = static_cast<double>(std::ranges::find(order, rank) - order.begin());
  if (++rank == ranks) rank = 0, ++pattern;
  return (position + 0.5) / ranks;
}
