#include "simgrid/smpi_overrides/working_set.hpp"

#include <mpi.h>

#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Host.hpp>

#include "simgrid/sent.hpp"
#include "simgrid/smpi_overrides/selected.hpp"

namespace {

namespace s4u = simgrid::s4u;
namespace colls = simgrid::smpi::colls;
using Collective = decltype(colls::alltoall);

Collective simgrids_alltoall = nullptr, simgrids_allgather = nullptr;

// Sets the working set of the rank's host during a collective: the mean of the bytes sent and received. A
// point-to-point message has itself as working set, because it is sent and received once.
class Within {
 public:
  Within(int blocks_sent, int count, MPI_Datatype type, MPI_Comm comm) {
    int size, ranks;
    PMPI_Type_size(type, &size), PMPI_Comm_size(comm, &ranks);
    sent_.working_set_bytes = 0.5 * (blocks_sent + ranks) * static_cast<double>(count) * size;
  }
  ~Within() { sent_.working_set_bytes = 0; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  kiviat::Sent& sent_ = *s4u::this_actor::get_host()->get_data<kiviat::Sent>();
};

int alltoall(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
             MPI_Datatype receive_type, MPI_Comm comm) {
  int ranks;
  PMPI_Comm_size(comm, &ranks);
  const Within within(ranks, receive_count, receive_type, comm);
  return simgrids_alltoall(send, count, type, receive, receive_count, receive_type, comm);
}

int allgather(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
              MPI_Datatype receive_type, MPI_Comm comm) {
  const Within within(1, receive_count, receive_type, comm);
  return simgrids_allgather(send, count, type, receive, receive_count, receive_type, comm);
}

}  // namespace

void kiviat::sim::note_working_sets() {
  when_selected([] {
    simgrids_alltoall = colls::alltoall, simgrids_allgather = colls::allgather;
    colls::alltoall = alltoall, colls::allgather = allgather;
  });
}
