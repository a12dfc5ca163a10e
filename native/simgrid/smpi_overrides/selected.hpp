// SMPI's collectives, as chosen by its selector, and when to replace them.
#pragma once

#include <mpi.h>

#include <simgrid/s4u/Actor.hpp>
#include <utility>

namespace simgrid::smpi::colls {

extern int (*barrier)(MPI_Comm);
extern int (*bcast)(void*, int, MPI_Datatype, int, MPI_Comm);
extern int (*reduce)(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
extern int (*allreduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
extern int (*allgather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
extern int (*alltoall)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);

}  // namespace simgrid::smpi::colls

namespace kiviat::sim {

// Calls `replace` when SMPI has selected its algorithms: after loading the platform and before creating the ranks. If
// there are several, they are called in this order.
inline void when_selected(void (*replace)()) {
  simgrid::s4u::Actor::on_creation_cb([replace, done = false](const simgrid::s4u::Actor&) mutable {
    if (!std::exchange(done, true)) replace();
  });
}

}  // namespace kiviat::sim
