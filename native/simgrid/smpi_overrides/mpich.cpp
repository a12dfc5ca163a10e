#include "simgrid/smpi_overrides/mpich.hpp"

#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>
#include <xbt/config.hpp>

#include "simgrid/communicator.hpp"
#include "simgrid/smpi_overrides/elements.hpp"
#include "simgrid/smpi_overrides/selected.hpp"

namespace simgrid::smpi {

int allgather__rdb(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
int allgather__bruck(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
int alltoall__bruck(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
int bcast__binomial_tree(void*, int, MPI_Datatype, int, MPI_Comm);
int bcast__scatter_rdb_allgather(void*, int, MPI_Datatype, int, MPI_Comm);
int bcast__scatter_LR_allgather(void*, int, MPI_Datatype, int, MPI_Comm);

}  // namespace simgrid::smpi

namespace {

namespace colls = simgrid::smpi::colls;
using kiviat::sim::bytes_of;
using kiviat::sim::element;
using kiviat::sim::is_power_of_two;
using simgrid::smpi::Datatype;
using simgrid::smpi::Request;

constexpr int tag = -7715;
constexpr long short_allgather_bytes = 81920, long_allgather_bytes = 524288;
constexpr long short_alltoall_bytes = 256, medium_alltoall_bytes = 32768;
constexpr int fewest_for_bruck = 8, most_posted = 32;
double given_allgather_bytes = -1;

bool is_long_allgather(long block_bytes, int ranks) {
  if (given_allgather_bytes >= 0) return static_cast<double>(block_bytes) > given_allgather_bytes;
  return block_bytes * ranks >= (is_power_of_two(ranks) ? long_allgather_bytes : short_allgather_bytes);
}

// In step i every rank passes on to the next rank the block that it received in step i - 1.
int allgather_ring(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
                   MPI_Datatype receive_type, MPI_Comm comm) {
  const int ranks = comm->size(), rank = comm->rank(), to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  const auto block = [&](int of) {
    return element(receive, static_cast<long>((of + ranks) % ranks) * receive_count, receive_type);
  };
  Datatype::copy(send, count, type, block(rank), receive_count, receive_type);
  for (int i = 0; i + 1 < ranks; ++i)
    Request::sendrecv(block(rank - i), receive_count, receive_type, to, tag, block(rank - i - 1), receive_count,
                      receive_type, from, tag, comm, MPI_STATUS_IGNORE);
  return MPI_SUCCESS;
}

int allgather(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
              MPI_Datatype receive_type, MPI_Comm comm) {
  const auto algorithm = is_long_allgather(bytes_of(receive_count, receive_type), comm->size()) ? allgather_ring
                         : is_power_of_two(comm->size()) ? simgrid::smpi::allgather__rdb
                                                         : simgrid::smpi::allgather__bruck;
  return algorithm(send, count, type, receive, receive_count, receive_type, comm);
}

// Posts messages to and from `most_posted` ranks at a time, beginning beside this rank, and waits for all of them.
int alltoall_posted(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
                    MPI_Datatype receive_type, MPI_Comm comm) {
  const int ranks = comm->size(), rank = comm->rank();
  std::vector<MPI_Request> requests;
  for (int first = 1; first < ranks; first += most_posted) {
    const int end = std::min(ranks, first + most_posted);
    requests.clear();
    for (int i = first; i < end; ++i) {
      const int from = (rank + i) % ranks;
      requests.push_back(Request::irecv(element(receive, static_cast<long>(from) * receive_count, receive_type),
                                        receive_count, receive_type, from, tag, comm));
    }
    for (int i = first; i < end; ++i) {
      const int to = (rank + ranks - i) % ranks;
      requests.push_back(
          Request::isend(element(send, static_cast<long>(to) * count, type), count, type, to, tag, comm));
    }
    Request::waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }
  return MPI_SUCCESS;
}

// In step i every rank exchanges with rank ^ i, or sends to rank + i and receives from rank - i.
int alltoall_pairwise(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
                      MPI_Datatype receive_type, MPI_Comm comm) {
  const int ranks = comm->size(), rank = comm->rank();
  for (int i = 1; i < ranks; ++i) {
    const int to = is_power_of_two(ranks) ? rank ^ i : (rank + i) % ranks;
    const int from = is_power_of_two(ranks) ? to : (rank + ranks - i) % ranks;
    Request::sendrecv(element(send, static_cast<long>(to) * count, type), count, type, to, tag,
                      element(receive, static_cast<long>(from) * receive_count, receive_type), receive_count,
                      receive_type, from, tag, comm, MPI_STATUS_IGNORE);
  }
  return MPI_SUCCESS;
}

int alltoall(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
             MPI_Datatype receive_type, MPI_Comm comm) {
  const int rank = comm->rank();
  const long block_bytes = bytes_of(receive_count, receive_type);
  if (block_bytes <= short_alltoall_bytes && comm->size() >= fewest_for_bruck)
    return simgrid::smpi::alltoall__bruck(send, count, type, receive, receive_count, receive_type, comm);
  Datatype::copy(element(send, static_cast<long>(rank) * count, type), count, type,
                 element(receive, static_cast<long>(rank) * receive_count, receive_type), receive_count, receive_type);
  const auto algorithm = block_bytes <= medium_alltoall_bytes ? alltoall_posted : alltoall_pairwise;
  return algorithm(send, count, type, receive, receive_count, receive_type, comm);
}

int bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const long bytes = bytes_of(count, type);
  MPI_Aint lower, extent;
  PMPI_Type_get_extent(type, &lower, &extent);
  // SMPI scatters the bytes between the elements, too.
  const bool has_gaps = lower != 0 || extent != bytes_of(1, type);
  const auto algorithm =
      has_gaps || kiviat::sim::is_short_bcast(bytes, comm->size()) ? simgrid::smpi::bcast__binomial_tree
      : kiviat::sim::is_medium_bcast(bytes, comm->size())          ? simgrid::smpi::bcast__scatter_rdb_allgather
                                                                   : simgrid::smpi::bcast__scatter_LR_allgather;
  return algorithm(data, count, type, root, comm);
}

}  // namespace

void kiviat::sim::decide_as_mpich(double allgather_bytes) {
  given_allgather_bytes = allgather_bytes;
  when_selected([] {
    // An algorithm that the machine names stays.
    const auto named = [](const char* what) { return !simgrid::config::get_value<std::string>(what).empty(); };
    if (!named("smpi/allgather")) colls::allgather = allgather;
    if (!named("smpi/alltoall")) colls::alltoall = alltoall;
    if (!named("smpi/bcast")) colls::bcast = bcast;
  });
}
