// Replaces MPI_Alltoallv for sparse exchanges. SMPI's algorithms send empty messages, so a call of 512 ranks with two
// neighbours each would simulate a quarter of a million messages. If parts are empty, this version posts all receives
// and then all sends of non-empty parts only, like Open MPI's basic linear algorithm; otherwise the selected algorithm
// runs. The rank that calls first chooses for all ranks, because some may have empty parts and others none (NPB IS).
#include <mpi.h>

#include <algorithm>
#include <map>
#include <vector>

#include "simgrid/communicator.hpp"
#include "simgrid/smpi_overrides/replaced.hpp"

namespace {

bool for_everybody(const int* counts, int ranks, int self) {
  return std::count(counts, counts + ranks, 0) == (counts[self] == 0);
}

// The calls of one group of ranks, which all of them make in the same order.
struct Calls {
  struct Choice {
    bool sparse;
    int ranks_to_come;
  };
  std::vector<long> made;        // of each rank
  std::map<long, Choice> begun;  // by number of the call; until all ranks have called
};

// Returns the choice for this call: that of the rank that called first. All ranks share the program's variables.
bool sparse_for_all(MPI_Comm comm, int ranks, int rank, bool sparse) {
  static std::map<std::vector<long>, Calls> of_group;
  MPI_Group group;
  PMPI_Comm_group(comm, &group);
  std::vector<long> actors;
  for (int i = 0; i < ranks; ++i) actors.push_back(group->actor(i));
  PMPI_Group_free(&group);
  Calls& calls = of_group[actors];
  calls.made.resize(static_cast<std::size_t>(ranks));
  const auto call = calls.begun.try_emplace(calls.made[static_cast<std::size_t>(rank)]++, sparse, ranks).first;
  const bool chosen = call->second.sparse;
  if (--call->second.ranks_to_come == 0) calls.begun.erase(call);
  return chosen;
}

int alltoallv(const void* send, const int* counts, const int* at, MPI_Datatype type, void* receive,
              const int* receive_counts, const int* receive_at, MPI_Datatype receive_type, MPI_Comm comm) {
  constexpr int tag = 7711;
  int ranks, rank;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &rank);
  const bool dense = for_everybody(counts, ranks, rank) && for_everybody(receive_counts, ranks, rank);
  if (!sparse_for_all(comm, ranks, rank, !dense))
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
