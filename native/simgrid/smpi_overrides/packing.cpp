// Replaces SMPI's Bruck alltoall by itself, after the time of its copies (J. Bruck et al., "Efficient Algorithms for
// All-to-All Communications in Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997): in round k a rank packs the
// blocks whose number has bit k set. All rounds are charged at the beginning. Preloaded before SimGrid, like
// leaders.cpp.
#include "simgrid/smpi_overrides/packing.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <bit>
#include <simgrid/s4u/Actor.hpp>

#include "simgrid/communicator.hpp"

namespace {

double block_cost_s = 0, byte_cost_s = 0;

}  // namespace

void kiviat::sim::charge_packing(double block_s, double s_per_byte) {
  block_cost_s = block_s, byte_cost_s = s_per_byte;
}

namespace simgrid::smpi {

int alltoall__bruck(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
                    MPI_Datatype receive_type, MPI_Comm comm) {
  int size;
  PMPI_Type_size(type, &size);
  long blocks = 0;
  for (unsigned i = 1; i < static_cast<unsigned>(comm->size()); ++i) blocks += std::popcount(i);
  const double bytes = static_cast<double>(size) * count;
  const double seconds = static_cast<double>(blocks) * (block_cost_s + bytes * byte_cost_s);
  if (seconds > 0) s4u::this_actor::sleep_for(seconds);
  static auto* const simgrids = reinterpret_cast<decltype(&alltoall__bruck)>(
      dlsym(RTLD_NEXT, "_ZN7simgrid4smpi15alltoall__bruckEPKviPNS0_8DatatypeEPviS4_PNS0_4CommE"));
  return simgrids(send, count, type, receive, receive_count, receive_type, comm);
}

}  // namespace simgrid::smpi
