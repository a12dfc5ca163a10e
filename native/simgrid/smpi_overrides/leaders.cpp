// Which ranks share a host, as SMPI's algorithms for nodes of several processors ask of every communicator at its first
// collective (Comm::init_smp). SimGrid's ranks tell each other, by P * P messages, and each of them compares P * P
// answers. Here a host is a core, and as a rule has one rank. Then there is nothing to tell: every rank is its own
// leader and its own node. It takes no time, and what all ranks know they have once. Ranks that share a core do as
// SimGrid does. The library is loaded before SimGrid (LD_PRELOAD), so that what stands here stands for its own.
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

// What ranks are asked of, by their actors.
struct Members {
  std::vector<int> actors;     // of each rank: its leader
  MPI_Comm leaders = nullptr;  // all of them, in the order of actors; null where some share a host
  s4u::BarrierPtr all_here;
};

std::map<std::vector<int>, Members> known;
std::unordered_map<const Comm*, Members*> by_leaders;
std::unordered_map<long, MPI_Comm> only;  // of each actor, the communicator of it alone

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

// Null where SimGrid has answered.
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
  // SMPI's messages of one communicator may be taken for those of another; where SimGrid's ranks tell each other, too,
  // none goes on before all are here.
  members.all_here->wait();
  if (get_leaders_comm()) return;  // MPI_COMM_WORLD is one object, which the first has told
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
  // Made where it is asked for: SimGrid's list of its ranks is as long as the number of the actor.
  MPI_Comm& mine = only[s4u::this_actor::get_pid()];
  int leader;
  if (!mine) mine = const_cast<Comm*>(this)->find_intra_comm(&leader);
  return mine;
}

bool Comm::is_blocked() const {
  return answered(*this) || simgrids<bool>("_ZNK7simgrid4smpi4Comm10is_blockedEv", this);
}

}  // namespace simgrid::smpi
