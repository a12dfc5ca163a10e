#include "simgrid/smpi_overrides/node_aware.hpp"

#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <memory>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Host.hpp>
#include <string>
#include <vector>
#include <xbt/config.hpp>

#include "simgrid/communicator.hpp"

namespace simgrid::smpi {

// Algorithms of SMPI: recursive doubling, and Rabenseifner's (recursive halving, then doubling).
int allreduce__rdb(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int allreduce__rab_rdb(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

namespace colls {

// SMPI's collectives, as chosen by its selector.
extern int (*barrier)(MPI_Comm);
extern int (*bcast)(void*, int, MPI_Datatype, int, MPI_Comm);
extern int (*reduce)(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
extern int (*allreduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

}  // namespace colls
}  // namespace simgrid::smpi

namespace {

namespace s4u = simgrid::s4u;
namespace colls = simgrid::smpi::colls;
using simgrid::smpi::Comm;
using simgrid::smpi::Request;

constexpr int tag = -7714;
// Thresholds from MPICH 4.0.2, maint/tuning/coll/ch4/generic.json.
constexpr long few_ranks = 8, short_bcast_bytes = 12288, long_bcast_bytes = 524288, short_reduce_bytes = 2048;
// Threshold from MPICH 4.0.2, maint/tuning/coll/mpir/generic.json.
constexpr long short_allreduce_bytes = 8;

struct Flat {
  decltype(colls::barrier) barrier;
  decltype(colls::bcast) bcast;
  decltype(colls::reduce) reduce;
  decltype(colls::allreduce) allreduce;
};
Flat flat{};

// Decomposition of a communicator by nodes. Its communicators are marked so that SMPI does not apply its own node-aware
// algorithms to them.
struct Nodes {
  MPI_Comm all;                        // all ranks
  std::vector<int> node_of, local_of;  // of each rank: number of its node, and its rank within the node
  std::vector<MPI_Comm> on;            // communicator of each node
  MPI_Comm leaders = nullptr;          // the first rank of each node; null with a single node, or one rank per node
};

Nodes nodes_of_ranks(Comm& comm) {
  Nodes nodes;
  std::map<std::string, int> numbers;
  std::vector<std::vector<int>> on;
  std::vector<int> all;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const char* name = s4u::Actor::by_pid(comm.group()->actor(rank))->get_host()->get_property("node");
    const auto [found, first] = numbers.emplace(name, static_cast<int>(on.size()));
    if (first) on.emplace_back();
    auto& here = on[static_cast<std::size_t>(found->second)];
    nodes.node_of.push_back(found->second), nodes.local_of.push_back(static_cast<int>(here.size()));
    here.push_back(rank), all.push_back(rank);
  }
  nodes.all = kiviat::sim::part(comm, all);
  if (on.size() == 1 || on.size() == nodes.node_of.size()) return nodes;
  std::vector<int> firsts;
  for (const auto& ranks : on) nodes.on.push_back(kiviat::sim::part(comm, ranks)), firsts.push_back(ranks.front());
  nodes.leaders = kiviat::sim::part(comm, firsts);
  return nodes;
}

// The decomposition as seen by one rank.
struct View {
  MPI_Comm all;
  const Nodes* nodes;  // null if algorithms without regard to nodes apply
  int rank, node, local;
  bool leads() const { return local == 0; }
  bool shares() const { return here()->size() > 1; }
  MPI_Comm here() const { return nodes->on[static_cast<std::size_t>(node)]; }
  MPI_Comm leaders() const { return nodes->leaders; }
  int node_of(int other) const { return nodes->node_of[static_cast<std::size_t>(other)]; }
  int local_of(int other) const { return nodes->local_of[static_cast<std::size_t>(other)]; }
};

View view(Comm& comm) {
  static std::map<std::vector<int>, Nodes> known;
  if (comm.is_smp_comm()) return {&comm, nullptr, 0, 0, 0};
  std::vector<int> actors = kiviat::sim::actors_of(comm);
  auto found = known.find(actors);
  if (found == known.end()) found = known.emplace(std::move(actors), nodes_of_ranks(comm)).first;
  const Nodes& nodes = found->second;
  if (!nodes.leaders) return {nodes.all, nullptr, 0, 0, 0};
  const auto rank = static_cast<std::size_t>(comm.rank());
  return {nodes.all, &nodes, comm.rank(), nodes.node_of[rank], nodes.local_of[rank]};
}

long bytes_of(int count, MPI_Datatype type) {
  int size;
  PMPI_Type_size(type, &size);
  return static_cast<long>(count) * size;
}

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

// Temporary buffer for `count` elements; data() accounts for the type's lower bound.
class Elements {
 public:
  Elements(int count, MPI_Datatype type) {
    MPI_Aint extent, true_extent;
    PMPI_Type_get_extent(type, &lower_, &extent);
    PMPI_Type_get_true_extent(type, &lower_, &true_extent);
    room_ =
        std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(count * std::max(extent, true_extent)));
  }
  void* data() { return room_.get() - lower_; }

 private:
  MPI_Aint lower_;
  std::unique_ptr<std::byte[]> room_;
};

// SMPI's algorithms use the receive buffer on all ranks, but programs need to pass one only on the root.
int reduce_to(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  if (comm->rank() == root) return flat.reduce(send, receive, count, type, op, root, comm);
  return flat.reduce(send, Elements(count, type).data(), count, type, op, root, comm);
}

int barrier(MPI_Comm comm) {
  const View mine = view(*comm);
  if (!mine.nodes) return flat.barrier(mine.all);
  if (mine.shares()) flat.barrier(mine.here());
  if (mine.leads()) flat.barrier(mine.leaders());
  char go = 0;
  if (mine.shares()) flat.bcast(&go, 1, MPI_BYTE, 0, mine.here());
  return MPI_SUCCESS;
}

int bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const View mine = view(*comm);
  const long bytes = bytes_of(count, type);
  const bool few = comm->size() < few_ranks, is_short = few || bytes < short_bcast_bytes;
  const bool middling = std::has_single_bit(static_cast<unsigned>(comm->size())) && bytes < long_bcast_bytes;
  if (!mine.nodes || !(is_short || middling)) return flat.bcast(data, count, type, root, mine.all);
  const int node = mine.node_of(root), local = mine.local_of(root);
  const bool with_root = mine.node == node && local > 0;
  if (with_root && is_short) {
    // The root sends to the node's leader, whose broadcast then also reaches the root.
    if (mine.rank == root) Request::send(data, count, type, 0, tag, mine.here());
    if (mine.leads()) Request::recv(data, count, type, local, tag, mine.here(), MPI_STATUS_IGNORE);
  } else if (with_root) {
    flat.bcast(data, count, type, local, mine.here());
  }
  if (mine.leads()) flat.bcast(data, count, type, node, mine.leaders());
  if (mine.shares() && (is_short || !with_root)) flat.bcast(data, count, type, 0, mine.here());
  return MPI_SUCCESS;
}

int reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  const View mine = view(*comm);
  if (!mine.nodes || !commutes(op)) return reduce_to(send, receive, count, type, op, root, mine.all);
  const bool is_short = bytes_of(count, type) <= short_reduce_bytes;
  Elements of_node(count, type), of_all(count, type);
  const int node = mine.node_of(root), local = mine.local_of(root);
  if (is_short) {
    // The root's node reduces last: its leader contributes the result of all other nodes.
    const void* part = send;
    if (mine.node != node && mine.shares())
      flat.reduce(send, of_node.data(), count, type, op, 0, mine.here()), part = of_node.data();
    if (mine.leads()) {
      void* into = mine.rank == root && !mine.shares() ? receive : of_all.data();
      flat.reduce(part, into, count, type, op, node, mine.leaders());
      part = mine.node == node ? into : part;
    }
    if (mine.node == node && mine.shares()) reduce_to(part, receive, count, type, op, local, mine.here());
    return MPI_SUCCESS;
  }
  const void* part = send;
  if (mine.shares()) flat.reduce(send, of_node.data(), count, type, op, 0, mine.here()), part = of_node.data();
  void* into = mine.rank == root ? receive : of_all.data();
  if (mine.leads()) flat.reduce(part, into, count, type, op, 0, mine.leaders());
  if (root != 0 && mine.rank == 0) Request::send(into, count, type, root, tag, comm);
  if (root != 0 && mine.rank == root) Request::recv(receive, count, type, 0, tag, comm, MPI_STATUS_IGNORE);
  return MPI_SUCCESS;
}

int allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const View mine = view(*comm);
  if (!mine.nodes || !commutes(op)) return flat.allreduce(send, receive, count, type, op, mine.all);
  Elements of_node(count, type);
  const void* part = send;
  if (mine.shares()) flat.reduce(send, of_node.data(), count, type, op, 0, mine.here()), part = of_node.data();
  if (mine.leads()) flat.allreduce(part, receive, count, type, op, mine.leaders());
  if (mine.shares()) flat.bcast(receive, count, type, 0, mine.here());
  return MPI_SUCCESS;
}

}  // namespace

void kiviat::sim::make_collectives_node_aware() {
  // SMPI selects its algorithms after loading the platform and before creating the ranks, so they are replaced in
  // between.
  s4u::Actor::on_creation_cb([](const s4u::Actor&) {
    if (flat.barrier) return;
    const auto chosen = [](const char* what) { return simgrid::config::get_value<std::string>(what); };
    const bool of_mpich = chosen("smpi/coll-selector") == "mpich" && chosen("smpi/allreduce").empty();
    flat = {colls::barrier, colls::bcast, colls::reduce, of_mpich ? allreduce_of_mpich : colls::allreduce};
    colls::barrier = barrier, colls::bcast = bcast, colls::reduce = reduce, colls::allreduce = allreduce;
  });
}
