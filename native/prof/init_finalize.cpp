// Start and end of profiling in a process.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "platform/clock.hpp"
#include "prof/grow_file.hpp"
#include "prof/location.hpp"
#include "prof/meeting.hpp"
#include "prof/merge.hpp"
#include "prof/packed.hpp"
#include "prof/phases.hpp"
#include "prof/profiler.hpp"
#include "prof/real.hpp"

namespace kiviat::prof {

Profiler the_profiler;
constinit thread_local int nested_here __attribute__((tls_model("initial-exec"))) = 0;

namespace {

// Returns memory for the counters: a mapped file in `folder`, or anonymous memory if the file cannot be created,
// because a full disk must not end the program. Null if there is no memory either.
State* room(const std::string& folder, const std::string& description) {
  const std::size_t bytes = words_of(static_cast<std::size_t>(profiler().ranks)) * sizeof(Word);
  const std::string path =
      folder + "/rank-" + std::to_string(profiler().rank) + "-" + std::to_string(getpid()) + ".state";
  void* memory = MAP_FAILED;
  if (const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644); file >= 0) {
    const auto end = static_cast<off_t>(bytes);
    const auto length = static_cast<ssize_t>(description.size());
    if (grow_file(file, 0, end + length) == 0 && pwrite(file, description.data(), description.size(), end) == length)
      memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) unlink(path.c_str());
  }
  const bool in_memory = memory == MAP_FAILED;
  if (in_memory) memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* state = static_cast<State*>(memory);
  state->header.in_memory = in_memory;
  return state;
}

// The profile's folder, kept because the program may clear its environment.
const std::string* the_folder = nullptr;
// True on the first rank of each node, which reads the network interfaces.
bool first_of_node = false;
// True on the first rank of each machine, which reads the energy; emulated nodes share one machine.
bool first_of_machine = false;

// Determines the distance to each rank, and the first ranks of nodes and machines. Returns false if a rank has no
// memory for counters. Collective.
bool find_distances(const Location& mine, bool has_room) {
  struct Told {
    std::uint64_t node, machine;
    std::int64_t socket, has_room;
  };
  const Told own{mine.node, clock::domain(), mine.socket, has_room};
  std::vector<Told> all(static_cast<std::size_t>(profiler().ranks));
  KIVIAT_PMPI(Allgather)(&own, sizeof own, byte(), all.data(), sizeof own, byte(), world());
  profiler().distances_of_world = new std::uint8_t[all.size()]();
  first_of_node = first_of_machine = true;
  bool all_have = true;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].machine == own.machine && static_cast<int>(rank) < profiler().rank) first_of_machine = false;
    int distance = other_node;
    all_have = all_have && all[rank].has_room;
    if (all[rank].node == own.node) {
      distance = all[rank].socket == own.socket && own.socket >= 0 ? same_socket
                 : mine.sockets == 1                               ? same_socket
                 : own.socket < 0 || all[rank].socket < 0          ? unknown
                                                                   : same_node;
      if (static_cast<int>(rank) < profiler().rank) first_of_node = false;
    }
    if (static_cast<int>(rank) == profiler().rank) distance = itself;
    profiler().distances_of_world[rank] = static_cast<std::uint8_t>(distance);
  }
  return all_have;
}

// The counters are shared with the parent.
void in_child() { profiler().counting = false, profiler().state = nullptr; }

// Writes the counters by phase to FOLDER/phases-RANK.json.
void write_phases(const std::string& folder) {
  profiler().phases->enter(0);
  const std::string path = folder + "/phases-" + std::to_string(profiler().rank) + ".json";
  const std::string line = profiler().phases->json() + "\n";
  if (!may_grow(static_cast<off_t>(line.size()))) return;
  if (std::FILE* file = std::fopen(path.c_str(), "w")) {
    std::fputs(line.c_str(), file);
    std::fclose(file);
  }
}

}  // namespace

void begin() {
  const char* const folder = std::getenv("KIVIAT_PROFILE");
  if (profiler().state || !folder || !*folder || std::getenv("KIVIAT_PROFILE_TAKEN")) return;
  // Child processes inherit the preloaded library; they must not be profiled.
  setenv("KIVIAT_PROFILE_TAKEN", "1", 1);
  KIVIAT_PMPI(Comm_rank)(world(), &profiler().rank);
  KIVIAT_PMPI(Comm_size)(world(), &profiler().ranks);
  meet(profiler().rank, "profiler");
  profiler().counter = clock::counter_is_a_clock();
  const Location mine = location();
  the_folder = new std::string(folder);
  State* const state = room(*the_folder, description());
  // Reads them before the first collective, when no rank can have sent a message of the program.
  std::uint64_t sent = 0, received = 0;
  const bool has_interfaces = read_interfaces(sent, received);
  if (!find_distances(mine, state)) return;
  profiler().take(state, mine, program());
  Header& header = state->header;
  header.parents = static_cast<Word>(parents());
  pthread_atfork(nullptr, nullptr, in_child);
  header.interfaces = first_of_node && has_interfaces;
  header.sent_before = sent, header.received_before = received;
  if (std::getenv("KIVIAT_COUNTERS")) {
    profiler().phases = new Phases(
        open_counters(),
        first_of_machine ? std::make_unique<energy::Reader>(energy::find_sources(energy::usual_places())) : nullptr);
    profiler().phases->enter(1);
  }
  profiler().start();
}

void note_session() {
  const char* const folder = std::getenv("KIVIAT_PROFILE");
  if (profiler().state || !folder || !*folder || std::getenv("KIVIAT_PROFILE_TAKEN")) return;
  const int file = open((std::string(folder) + "/session").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file >= 0) close(file);
}

void end() {
  State* const state = profiler().state;
  if (!state || state->header.stage != static_cast<Word>(Stage::counting)) return;
  profiler().count(false);
  Header& header = state->header;
  if (profiler().phases) write_phases(*the_folder);
  KIVIAT_PMPI(Barrier)(world());  // other ranks may still be sending
  if (header.interfaces) header.interfaces = read_interfaces(header.sent_after, header.received_after);
  header.stage = static_cast<Word>(Stage::ended);
  merge(*the_folder);
}

}  // namespace kiviat::prof
