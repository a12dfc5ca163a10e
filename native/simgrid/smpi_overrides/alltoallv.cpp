// Replaces MPI_Alltoallv for sparse exchanges. SMPI's algorithms send empty messages, so a call of 512 ranks with two
// neighbours each would simulate a quarter of a million messages. If parts are empty, this version posts all receives
// and then all sends of non-empty parts only, like Open MPI's basic linear algorithm; otherwise the selected algorithm
// runs. All ranks must make the same choice, and do: in Kiviat's patterns either all ranks have empty parts or none
// has.
#include <mpi.h>

#include <algorithm>
#include <vector>

#include "simgrid/smpi_overrides/replaced.hpp"

namespace {

bool for_everybody(const int* counts, int ranks, int self) {
  return std::count(counts, counts + ranks, 0) == (counts[self] == 0);
}

int alltoallv(const void* send, const int* counts, const int* at, MPI_Datatype type, void* receive,
              const int* receive_counts, const int* receive_at, MPI_Datatype receive_type, MPI_Comm comm) {
  constexpr int tag = 7711;
  int ranks, rank;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &rank);
  if (for_everybody(counts, ranks, rank) && for_everybody(receive_counts, ranks, rank))
    return PMPI_Alltoallv(send, counts, at, type, receive, receive_counts, receive_at, receive_type, comm);
  MPI_Aint lower, extent, receive_extent;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_get_extent(receive_type, &lower, &receive_extent);
  std::vector<MPI_Request> requests;
  // Starts behind this rank, so that not all ranks send to the same receiver first.
  for (int i = 1; i <= ranks; ++i)
    if (const int from = (rank + ranks - i) % ranks; receive_counts[from])
      MPI_Irecv(static_cast<char*>(receive) + receive_at[from] * receive_extent, receive_counts[from], receive_type,
                from, tag, comm, &requests.emplace_back());
  for (int i = 1; i <= ranks; ++i)
    if (const int to = (rank + i) % ranks; counts[to])
      MPI_Isend(static_cast<const char*>(send) + at[to] * extent, counts[to], type, to, tag, comm,
                &requests.emplace_back());
  return MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

}  // namespace

int MPI_Alltoallv(const void* send, const int* counts, const int* at, MPI_Datatype type, void* receive,
                  const int* receive_counts, const int* receive_at, MPI_Datatype receive_type, MPI_Comm comm) {
  static auto* const first = kiviat::sim::first_of("MPI_Alltoallv", &PMPI_Alltoallv, &alltoallv);
  return first(send, counts, at, type, receive, receive_counts, receive_at, receive_type, comm);
}
