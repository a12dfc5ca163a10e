// Replaces Comm::init_smp, by which SMPI's node-aware algorithms determine, at the first collective of every
// communicator, which ranks share a host. SimGrid's version sends P * P messages and compares P * P answers on each
// rank. Here a host is a core and normally has one rank, so each rank is its own leader and node: that needs no
// messages and no simulated time, and is stored once for all ranks. If ranks share a core, SimGrid's version runs. This
// library is preloaded before SimGrid (LD_PRELOAD), so these definitions take precedence.
#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Barrier.hpp>
#include <simgrid/s4u/Host.hpp>
#include <unordered_map>
#include <vector>

#include "simgrid/communicator.hpp"

namespace {

namespace s4u = simgrid::s4u;
using simgrid::smpi::Comm;

// Leaders of a communicator, by the SimGrid actors of its ranks.
struct Members {
  std::vector<int> actors;     // leader of each rank: itself
  MPI_Comm leaders = nullptr;  // communicator of all ranks, in the order of actors; null if some share a host
  s4u::BarrierPtr all_here;
};

std::map<std::vector<int>, Members> known;
std::unordered_map<const Comm*, Members*> by_leaders;
std::unordered_map<long, MPI_Comm> only;  // communicator containing only the actor

bool all_alone(const std::vector<int>& actors) {
  return std::ranges::all_of(actors,
                             [](int actor) { return s4u::Actor::by_pid(actor)->get_host()->get_actor_count() == 1; });
}

MPI_Comm in_order(Comm& comm, const std::vector<int>& actors) {
  std::vector<int> ranks(actors.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::ranges::sort(ranks, {}, [&](int rank) { return actors[static_cast<std::size_t>(rank)]; });
  return kiviat::sim::part(comm, ranks);
}

// The first rank to arrive computes them.
Members& members_of(Comm& comm) {
  std::vector<int> actors = kiviat::sim::actors_of(comm);
  const auto [found, first] = known.try_emplace(actors);
  Members& members = found->second;
  if (first && all_alone(actors)) {
    members.leaders = in_order(comm, actors);
    members.all_here = s4u::Barrier::create(static_cast<unsigned>(actors.size()));
    members.actors = std::move(actors);
    by_leaders.emplace(members.leaders, &members);
  }
  return members;
}

// Returns null if SimGrid's own init_smp() has set the leaders.
const Members* answered(const Comm& comm) {
  const auto found = by_leaders.find(comm.get_leaders_comm());
  return found == by_leaders.end() ? nullptr : found->second;
}

template <class Answer>
Answer simgrids(const char* symbol, const Comm* comm) {
  return reinterpret_cast<Answer (*)(const Comm*)>(dlsym(RTLD_NEXT, symbol))(comm);
}

}  // namespace

namespace simgrid::smpi {

void Comm::init_smp() {
  Members& members = members_of(*this);
  if (!members.leaders) {
    simgrids<void>("_ZN7simgrid4smpi4Comm8init_smpEv", this);
    return;
  }
  // Synchronises all ranks, like SimGrid's version, which exchanges messages here; otherwise internal messages of
  // different communicators could match each other.
  members.all_here->wait();
  if (get_leaders_comm()) return;  // MPI_COMM_WORLD is one object for all ranks, and the first rank has set it
  members.leaders->ref();
  set_leaders_comm(members.leaders);
}

int* Comm::get_leaders_map() const {
  const Members* members = answered(*this);
  return members ? const_cast<int*>(members->actors.data())
                 : simgrids<int*>("_ZNK7simgrid4smpi4Comm15get_leaders_mapEv", this);
}

MPI_Comm Comm::get_intra_comm() const {
  if (!answered(*this)) return simgrids<MPI_Comm>("_ZNK7simgrid4smpi4Comm14get_intra_commEv", this);
  // Creates the communicator on demand, because the memory of SimGrid's group grows with the actor's number.
  MPI_Comm& mine = only[s4u::this_actor::get_pid()];
  int leader;
  if (!mine) mine = const_cast<Comm*>(this)->find_intra_comm(&leader);
  return mine;
}

bool Comm::is_blocked() const {
  return answered(*this) || simgrids<bool>("_ZNK7simgrid4smpi4Comm10is_blockedEv", this);
}

}  // namespace simgrid::smpi
