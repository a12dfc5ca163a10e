// Profiler of a simulation. All ranks live in one process, and one of them runs at a time. Each has its own counters;
// their locations come from the platform instead of from messages, so profiling takes no simulated time and does not
// change the result.
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <simgrid/s4u.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "platform/tsc.hpp"
#include "prof/packed.hpp"
#include "prof/profiler.hpp"
#include "simgrid/sent.hpp"

namespace kiviat::prof {
namespace {

namespace s4u = simgrid::s4u;

// With more ranks, the platform counts messages between pairs of cores only if KIVIAT_CROSSING is set, because the
// table may have an entry for every pair.
constexpr std::size_t most_crossing = 1024;

const char* property(const s4u::Host* host, const char* name) {
  const char* const value = host->get_property(name);
  return value ? value : "";
}

// Name of the program, the first argument of smpimain.
std::string program() {
  std::ifstream file("/proc/self/cmdline");
  std::string word;
  std::getline(std::getline(file, word, '\0'), word, '\0');
  return word.substr(word.rfind('/') + 1);
}

struct Place {
  s4u::Host* host = nullptr;
  int node = 0;
  std::int64_t socket = -1;
};

class World {
 public:
  World() {
    const auto any = [](const s4u::ActorPtr&) { return true; };
    for (const s4u::ActorPtr& actor : s4u::Engine::get_instance()->get_filtered_actors(any)) {
      const char* const rank = actor->get_property("rank");
      if (!rank) continue;
      places_.resize(std::max(places_.size(), std::stoul(rank) + 1));
      places_[std::stoul(rank)].host = actor->get_host();
    }
    std::map<std::string, int> nodes;
    for (Place& place : places_) {
      if (!place.host) continue;
      // On platforms other than Kiviat's, each host is a node.
      const char* const node = property(place.host, "node");
      place.node = nodes.emplace(*node ? node : place.host->get_cname(), static_cast<int>(nodes.size())).first->second;
      if (const char* const socket = property(place.host, "socket"); *socket) place.socket = std::atol(socket);
      const auto [first, alone] = ranks_.emplace(place.host, static_cast<int>(&place - places_.data()));
      crossing_ = crossing_ && alone && place.host->get_data<Sent>();
    }
    states_.resize(places_.size());
    crossing_ = crossing_ && (places_.size() <= most_crossing || std::getenv("KIVIAT_CROSSING"));
    for (const Place& place : places_)
      if (crossing_ && place.host) place.host->get_data<Sent>()->counted = true;
  }

  void begin(Profiler& mine) {
    const Place& here = places_.at(static_cast<std::size_t>(mine.rank));
    // Maps memory without reserving it: only pages of rows that receive messages are backed.
    void* const room = mmap(nullptr, words_of(places_.size()) * sizeof(Word), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return;
    mine.distances_of_world = new std::uint8_t[places_.size()]();
    for (std::size_t rank = 0; rank < places_.size(); ++rank)
      mine.distances_of_world[rank] = static_cast<std::uint8_t>(distance(here, places_[rank]));
    Location where{};
    where.node_name = where.host = *property(here.host, "node") ? property(here.host, "node") : here.host->get_cname();
    where.node = static_cast<std::uint64_t>(here.node) + 1;
    where.cpus = property(here.host, "core");
    where.socket = here.socket;
    State* const state = states_[static_cast<std::size_t>(mine.rank)] = static_cast<State*>(room);
    mine.take(state, where, program());
    mine.concurrent = false;
    mine.start();
  }

  // The last rank to end writes the profile of all.
  void end(Profiler& mine) {
    mine.count(false);
    mine.state->header.stage = static_cast<Word>(Stage::ended);
    if (++ended_ == places_.size()) {
      if (crossing_) note_crossing();
      write();
    }
  }

  // Writes the profile also if the simulation ends early, by deadlock or MPI_Abort.
  ~World() { write(); }

 private:
  static int distance(const Place& from, const Place& to) {
    if (&from == &to) return itself;
    if (from.node != to.node) return other_node;
    return from.socket < 0 || to.socket < 0 ? unknown : from.socket == to.socket ? same_socket : same_node;
  }

  // Copies the messages that the simulator moved between cores, including those of collectives, to rows `crossed`.
  void note_crossing() {
    for (std::size_t rank = 0; rank < places_.size(); ++rank) {
      if (!places_[rank].host || !states_[rank]) continue;
      states_[rank]->header.crossing = 1;
      Cell* const row = states_[rank]->row + crossed * places_.size();
      for (const auto& [to, total] : places_[rank].host->get_data<Sent>()->to) {
        const auto found = ranks_.find(to);
        if (found == ranks_.end()) continue;
        row[found->second].messages = static_cast<Word>(total.messages + 0.5);
        row[found->second].bytes = static_cast<Word>(total.bytes + 0.5);
      }
    }
  }

  void write() {
    const auto first = std::ranges::find_if(states_, [](const State* state) { return state != nullptr; });
    if (written_ || first == states_.end()) return;
    written_ = true;
    const std::int64_t begun_ns = clock::thread_ns();
    Bytes bytes;
    for (State*& state : states_) {
      const Bytes one = state ? packed(*state, &state == &*first) : Bytes{0};
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    const double merged_s = 1e-9 * static_cast<double>(clock::thread_ns() - begun_ns);
    const char* const folder = std::getenv("KIVIAT_PROFILE");
    if (!write_world(folder, (*first)->header, bytes,
                     ",\"clock\":\"simulated\",\"merged_s\":" + std::to_string(merged_s)))
      std::fprintf(stderr, "kiviat: cannot write the profile to folder %s\n", folder);
  }

  std::vector<Place> places_;                        // of each rank
  std::unordered_map<const s4u::Host*, int> ranks_;  // rank on each host
  std::vector<State*> states_;
  std::size_t ended_ = 0;
  bool crossing_ = true, written_ = false;
};

World& world_of_all() {
  static World all;
  return all;
}

}  // namespace

Profiler& profiler() {
  // Never destroyed, because simulated ranks may still end while the process exits.
  static auto& of = *new std::unordered_map<const s4u::Actor*, std::unique_ptr<Profiler>>;
  static const s4u::Actor* last = nullptr;
  static Profiler* found = nullptr;
  const s4u::Actor* const self = s4u::Actor::self();
  if (self != last || !found) {
    std::unique_ptr<Profiler>& mine = of[self];
    if (!mine) mine = std::make_unique<Profiler>();
    last = self, found = mine.get();
  }
  return *found;
}

void begin() {
  const char* const folder = std::getenv("KIVIAT_PROFILE");
  Profiler& mine = profiler();
  if (mine.state || !folder || !*folder) return;
  PMPI_Comm_rank(MPI_COMM_WORLD, &mine.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &mine.ranks);
  world_of_all().begin(mine);
}

void end() {
  Profiler& mine = profiler();
  if (mine.state && mine.state->header.stage == static_cast<Word>(Stage::counting)) world_of_all().end(mine);
}

}  // namespace kiviat::prof
