#include "simgrid/smpi_overrides/node_aware.hpp"

#include <mpi.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>
#include <xbt/config.hpp>

#include "simgrid/communicator.hpp"
#include "simgrid/smpi_overrides/elements.hpp"
#include "simgrid/smpi_overrides/mpich.hpp"
#include "simgrid/smpi_overrides/nodes.hpp"
#include "simgrid/smpi_overrides/selected.hpp"
#include "simgrid/smpi_overrides/shared_memory.hpp"

namespace simgrid::smpi {

// Algorithms of SMPI: recursive doubling, and Rabenseifner's (recursive halving, then doubling).
int allreduce__rdb(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int allreduce__rab_rdb(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

}  // namespace simgrid::smpi

namespace {

namespace s4u = simgrid::s4u;
namespace colls = simgrid::smpi::colls;
using kiviat::sim::bytes_of;
using kiviat::sim::Elements;
using kiviat::sim::in_shared_memory;
using kiviat::sim::View;
using kiviat::sim::view;
using simgrid::smpi::Request;

constexpr int tag = -7714;
// Threshold from MPICH 4.0.2, maint/tuning/coll/ch4/generic.json.
constexpr long short_reduce_bytes = 2048;
// Threshold from MPICH 4.0.2, maint/tuning/coll/mpir/generic.json.
constexpr long short_allreduce_bytes = 8;

struct Flat {
  decltype(colls::barrier) barrier;
  decltype(colls::bcast) bcast;
  decltype(colls::reduce) reduce;
  decltype(colls::allreduce) allreduce;
};
Flat flat{};

bool commutes(MPI_Op op) {
  int commutes = 1;
  if (op != MPI_OP_NULL) PMPI_Op_commutative(op, &commutes);
  return commutes != 0;
}

bool is_predefined(MPI_Op op) {
  const MPI_Op all[] = {MPI_MAX, MPI_MIN,  MPI_MAXLOC, MPI_MINLOC, MPI_SUM,  MPI_PROD,    MPI_LAND,
                        MPI_LOR, MPI_LXOR, MPI_BAND,   MPI_BOR,    MPI_BXOR, MPI_REPLACE, MPI_NO_OP};
  return std::ranges::find(all, op) != std::end(all);
}

// Allreduce of MPICH 4; SMPI's selector follows version 3, whose short messages end at 2048 bytes.
int allreduce_of_mpich(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const auto power = static_cast<int>(std::bit_floor(static_cast<unsigned>(comm->size())));
  const bool halves = bytes_of(count, type) > short_allreduce_bytes && is_predefined(op) && count >= power;
  return (halves ? simgrid::smpi::allreduce__rab_rdb : simgrid::smpi::allreduce__rdb)(send, receive, count, type, op,
                                                                                      comm);
}

// SMPI's algorithms use the receive buffer on all ranks, but programs need to pass one only on the root.
int reduce_to(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  if (comm->rank() == root) return flat.reduce(send, receive, count, type, op, root, comm);
  return flat.reduce(send, Elements(count, type).data(), count, type, op, root, comm);
}

// The steps within a node: in shared memory if the machine gives its costs, else by messages.
void reduce_here(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm here) {
  if (in_shared_memory(static_cast<double>(bytes_of(count, type))))
    kiviat::sim::reduce_in_memory(send, receive, count, type, op, root, here);
  else
    reduce_to(send, receive, count, type, op, root, here);
}

void bcast_here(void* data, int count, MPI_Datatype type, int root, MPI_Comm here) {
  if (in_shared_memory(static_cast<double>(bytes_of(count, type))))
    kiviat::sim::bcast_in_memory(data, count, type, root, here);
  else
    flat.bcast(data, count, type, root, here);
}

// Returns whether all ranks exchange vectors of so many bytes in the shared memory of one node.
bool all_in_memory(long bytes, MPI_Comm comm) {
  return in_shared_memory(static_cast<double>(bytes)) && comm->size() > 1 && !comm->is_smp_comm() &&
         kiviat::sim::on_one_node(*comm);
}

int barrier(MPI_Comm comm) {
  const View mine = view(*comm);
  if (all_in_memory(0, comm)) return kiviat::sim::barrier_in_memory(mine.all), MPI_SUCCESS;
  if (!mine.nodes) return flat.barrier(mine.all);
  char go = 0;
  const bool in_memory = in_shared_memory(0);
  if (mine.shares() && in_memory) reduce_here(&go, &go, 0, MPI_BYTE, MPI_OP_NULL, 0, mine.here());
  if (mine.shares() && !in_memory) flat.barrier(mine.here());
  if (mine.leads()) flat.barrier(mine.leaders());
  if (mine.shares()) bcast_here(&go, in_memory ? 0 : 1, MPI_BYTE, 0, mine.here());
  return MPI_SUCCESS;
}

int bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const View mine = view(*comm);
  const long bytes = bytes_of(count, type);
  if (all_in_memory(bytes, comm)) return bcast_here(data, count, type, root, mine.all), MPI_SUCCESS;
  const bool is_short = kiviat::sim::is_short_bcast(bytes, comm->size());
  if (!mine.nodes || !(is_short || kiviat::sim::is_medium_bcast(bytes, comm->size())))
    return flat.bcast(data, count, type, root, mine.all);
  const int node = mine.node_of(root), local = mine.local_of(root);
  const bool with_root = mine.node == node && local > 0;
  if (with_root && is_short) {
    // The root sends to the node's leader, whose broadcast then also reaches the root.
    if (mine.rank == root) Request::send(data, count, type, 0, tag, mine.here());
    if (mine.leads()) Request::recv(data, count, type, local, tag, mine.here(), MPI_STATUS_IGNORE);
  } else if (with_root) {
    bcast_here(data, count, type, local, mine.here());
  }
  if (mine.leads()) flat.bcast(data, count, type, node, mine.leaders());
  if (mine.shares() && (is_short || !with_root)) bcast_here(data, count, type, 0, mine.here());
  return MPI_SUCCESS;
}

int reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  const View mine = view(*comm);
  const long bytes = bytes_of(count, type);
  if (commutes(op) && all_in_memory(bytes, comm))
    return reduce_here(send, receive, count, type, op, root, mine.all), MPI_SUCCESS;
  if (!mine.nodes || !commutes(op)) return reduce_to(send, receive, count, type, op, root, mine.all);
  const bool is_short = bytes <= short_reduce_bytes;
  Elements of_node(count, type), of_all(count, type);
  const int node = mine.node_of(root), local = mine.local_of(root);
  if (is_short) {
    // The root's node reduces last: its leader contributes the result of all other nodes.
    const void* part = send;
    if (mine.node != node && mine.shares())
      reduce_here(send, of_node.data(), count, type, op, 0, mine.here()), part = of_node.data();
    if (mine.leads()) {
      void* into = mine.rank == root && !mine.shares() ? receive : of_all.data();
      flat.reduce(part, into, count, type, op, node, mine.leaders());
      part = mine.node == node ? into : part;
    }
    if (mine.node == node && mine.shares()) reduce_here(part, receive, count, type, op, local, mine.here());
    return MPI_SUCCESS;
  }
  const void* part = send;
  if (mine.shares()) reduce_here(send, of_node.data(), count, type, op, 0, mine.here()), part = of_node.data();
  void* into = mine.rank == root ? receive : of_all.data();
  if (mine.leads()) flat.reduce(part, into, count, type, op, 0, mine.leaders());
  if (root != 0 && mine.rank == 0) Request::send(into, count, type, root, tag, comm);
  if (root != 0 && mine.rank == root) Request::recv(receive, count, type, 0, tag, comm, MPI_STATUS_IGNORE);
  return MPI_SUCCESS;
}

int allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const View mine = view(*comm);
  const long bytes = bytes_of(count, type);
  if (commutes(op) && all_in_memory(bytes, comm)) {
    reduce_here(send, receive, count, type, op, 0, mine.all);
    bcast_here(receive, count, type, 0, mine.all);
    return MPI_SUCCESS;
  }
  if (!mine.nodes || !commutes(op)) return flat.allreduce(send, receive, count, type, op, mine.all);
  Elements of_node(count, type);
  const void* part = send;
  if (mine.shares()) reduce_here(send, of_node.data(), count, type, op, 0, mine.here()), part = of_node.data();
  if (mine.leads()) flat.allreduce(part, receive, count, type, op, mine.leaders());
  if (mine.shares()) bcast_here(receive, count, type, 0, mine.here());
  return MPI_SUCCESS;
}

}  // namespace

void kiviat::sim::make_collectives_node_aware(int version) {
  static bool of_mpich_4;
  of_mpich_4 = version > 3;
  when_selected([] {
    const auto chosen = [](const char* what) { return simgrid::config::get_value<std::string>(what); };
    const bool replaces = of_mpich_4 && chosen("smpi/coll-selector") == "mpich" && chosen("smpi/allreduce").empty();
    flat = {colls::barrier, colls::bcast, colls::reduce, replaces ? allreduce_of_mpich : colls::allreduce};
    colls::barrier = barrier, colls::bcast = bcast, colls::reduce = reduce, colls::allreduce = allreduce;
  });
}
