#include "simgrid/smpi_overrides/alltoall.hpp"

#include <mpi.h>

#include <stdexcept>

#include "simgrid/communicator.hpp"
#include "simgrid/smpi_overrides/elements.hpp"
#include "simgrid/smpi_overrides/selected.hpp"

namespace {

namespace colls = simgrid::smpi::colls;
using kiviat::sim::element;
using simgrid::smpi::Request;

constexpr int tag = -7712;
decltype(colls::alltoall) selected = nullptr;

// In step i every rank sends to rank + i and receives from rank - i, as in MPICH. Step 0 is a message, as in SMPI.
int alltoall(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
             MPI_Datatype receive_type, MPI_Comm comm) {
  try {
    return selected(send, count, type, receive, receive_count, receive_type, comm);
  } catch (const std::invalid_argument&) {
  }
  const int ranks = comm->size(), rank = comm->rank();
  for (int i = 0; i < ranks; ++i) {
    const int to = (rank + i) % ranks, from = (rank + ranks - i) % ranks;
    Request::sendrecv(element(send, static_cast<long>(to) * count, type), count, type, to, tag,
                      element(receive, static_cast<long>(from) * receive_count, receive_type), receive_count,
                      receive_type, from, tag, comm, MPI_STATUS_IGNORE);
  }
  return MPI_SUCCESS;
}

}  // namespace

void kiviat::sim::allow_any_number_of_ranks() {
  when_selected([] {
    selected = colls::alltoall;
    colls::alltoall = alltoall;
  });
}
