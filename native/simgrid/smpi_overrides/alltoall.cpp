// Replaces MPI_Alltoall if SMPI refuses it: for long messages MPICH exchanges pairwise, but the pairwise algorithm of
// SimGrid 3.32 requires a power of two of ranks. As in MPICH, in step i every rank sends to rank + i and receives from
// rank - i.
#include <mpi.h>

#include <stdexcept>

#include "simgrid/smpi_overrides/replaced.hpp"

namespace {

int alltoall(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
             MPI_Datatype receive_type, MPI_Comm comm) {
  try {
    return PMPI_Alltoall(send, count, type, receive, receive_count, receive_type, comm);
  } catch (const std::invalid_argument&) {
  }
  constexpr int tag = 7712;
  int ranks, rank;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &rank);
  MPI_Aint lower, extent, receive_extent;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_get_extent(receive_type, &lower, &receive_extent);
  for (int i = 0; i < ranks; ++i) {
    const int to = (rank + i) % ranks, from = (rank + ranks - i) % ranks;
    MPI_Sendrecv(static_cast<const char*>(send) + to * count * extent, count, type, to, tag,
                 static_cast<char*>(receive) + from * receive_count * receive_extent, receive_count, receive_type, from,
                 tag, comm, MPI_STATUS_IGNORE);
  }
  return MPI_SUCCESS;
}

}  // namespace

int MPI_Alltoall(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
                 MPI_Datatype receive_type, MPI_Comm comm) {
  static auto* const first = kiviat::sim::first_of("MPI_Alltoall", &PMPI_Alltoall, &alltoall);
  return first(send, count, type, receive, receive_count, receive_type, comm);
}
