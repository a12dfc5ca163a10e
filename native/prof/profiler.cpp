#include "prof/profiler.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "prof/event.hpp"
#include "prof/meeting.hpp"
#include "prof/merge.hpp"
#include "prof/phases.hpp"
#include "prof/where.hpp"

namespace kiviat::prof {

Profiler profiler;
constinit thread_local int nested __attribute__((tls_model("initial-exec"))) = 0;

namespace {

constexpr Word refresh_ticks = Word{1} << 29;  // some tenths of a second

static_assert(std::size(names) < 255);

// A file of its own in the folder, or memory where that cannot be: a full disk must not end a program.
State* room(const std::string& folder, const std::string& description) {
  const std::size_t bytes = words_of(static_cast<std::size_t>(profiler.ranks)) * sizeof(Word);
  const std::string path = folder + "/rank-" + std::to_string(profiler.rank) + "-" + std::to_string(getpid()) + ".state";
  void* memory = MAP_FAILED;
  if (const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644); file >= 0) {
    const auto end = static_cast<off_t>(bytes);
    const auto length = static_cast<ssize_t>(description.size());
    if (posix_fallocate(file, 0, end) == 0 && pwrite(file, description.data(), description.size(), end) == length)
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

template <std::size_t N>
void text(char (&to)[N], const std::string& from) {
  std::snprintf(to, N, "%s", from.c_str());
}

// Ranks of a node whose counters of the network one of them reads: the first.
bool first_of_node = false;
// Likewise of a machine, which several nodes may share, if they are emulated.
bool first_of_machine = false;

// False if a rank has no room to count.
bool find_distances(const Where& mine, bool has_room) {
  struct Told {
    std::uint64_t node, machine;
    std::int64_t socket, has_room;
  };
  const Told own{mine.node, clock::domain(), mine.socket, has_room};
  std::vector<Told> all(static_cast<std::size_t>(profiler.ranks));
  KIVIAT_PMPI(Allgather)(&own, sizeof own, byte(), all.data(), sizeof own, byte(), world());
  profiler.distances_of_world = new std::uint8_t[all.size() / 4 + 1]();
  first_of_node = first_of_machine = true;
  bool all_have = true;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].machine == own.machine && static_cast<int>(rank) < profiler.rank) first_of_machine = false;
    int distance = other_node;
    all_have = all_have && all[rank].has_room;
    if (all[rank].node == own.node) {
      distance = all[rank].socket == own.socket && own.socket >= 0 ? same_socket
                 : mine.sockets == 1                                ? same_socket
                 : own.socket < 0 || all[rank].socket < 0           ? unknown
                                                                    : same_node;
      if (static_cast<int>(rank) < profiler.rank) first_of_node = false;
    }
    if (static_cast<int>(rank) == profiler.rank) distance = same_socket;
    profiler.distances_of_world[rank / 4] |= static_cast<std::uint8_t>(distance << (2 * (rank % 4)));
  }
  return all_have;
}

void in_child() { profiler.counting = false; }

void note_time(Header& header, Word ticks) {
  header.last_ticks = ticks;
  header.last_ns = static_cast<Word>(1e9 * clock::now());
}

// What a rank's machine counted, for who reads the profile.
void write_phases(const std::string& folder) {
  profiler.phases->enter(0);
  const std::string path = folder + "/phases-" + std::to_string(profiler.rank) + ".json";
  if (std::FILE* file = std::fopen(path.c_str(), "w")) {
    std::fprintf(file, "%s\n", profiler.phases->json().c_str());
    std::fclose(file);
  }
}

}  // namespace

std::string description() {
  std::string words = "{\"format\":\"";
  words.append(format).append("\",\"fields\":[");
#define KIVIAT_FIELD(name) words.append("\"" #name "\",");
  KIVIAT_FIELDS(KIVIAT_FIELD)
#undef KIVIAT_FIELD
  words.back() = ']';
  words += ",\"texts\":{";
#define KIVIAT_TEXT(name, bytes) \
  words += "\"" #name "\":[" + std::to_string(offsetof(Header, name) / sizeof(Word)) + "," + \
           std::to_string((bytes) / sizeof(Word)) + "],";
  KIVIAT_TEXTS(KIVIAT_TEXT)
#undef KIVIAT_TEXT
  words.back() = '}';
  const auto number = [&](const char* name, std::size_t value) {
    words += std::string(",\"") + name + "\":" + std::to_string(value);
  };
  number("slots_at", offsetof(State, slots) / sizeof(Word));
  number("slots", most_slots);
  number("slot_words", sizeof(Slot) / sizeof(Word));
  number("groups_at", offsetof(State, groups) / sizeof(Word));
  number("groups", most_groups);
  number("group_words", sizeof(Group) / sizeof(Word));
  number("rows_at", words_without_rows);
  number("rows", rows);
  number("size_classes", size_classes);
  words += ",\"calls\":[";
  for (const char* name : names) words += std::string("\"") + name + "\",";
  words.back() = ']';
  return words + "}\n";
}

Slot& Profiler::new_slot(Call call) {
  const Word key = 1 + static_cast<Word>(call) + 256 * state->header.phase;
  for (int at = 0; at < most_slots; ++at) {
    Slot& slot = state->slots[at];
    Word unused = 0;
    if (std::atomic_ref(slot.key).compare_exchange_strong(unused, at + 1 < most_slots ? key : Word{256}) || unused == key ||
        at + 1 == most_slots) {
      if (at + 1 == most_slots) ++state->header.lost_slots;
      slot_of[state->header.phase][static_cast<int>(call)] = static_cast<std::uint8_t>(at + 1);
      return slot;
    }
  }
  std::abort();  // the last one takes all
}

void Profiler::refresh(Word now_ticks) {
  Header& header = state->header;
  note_time(header, now_ticks);
  refresh_at = now_ticks + std::min(refresh_ticks, now_ticks - header.first_ticks);
}

struct PersistentSends::Turn {
  explicit Turn(std::atomic_flag& busy) : busy_(busy) {
    while (busy_.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  ~Turn() { busy_.clear(std::memory_order_release); }
  std::atomic_flag& busy_;
};

PersistentSends::Entry* PersistentSends::at(std::uint64_t key) {
  for (Entry& entry : entries_)
    if (entry.key == key) return &entry;
  return nullptr;
}

bool PersistentSends::add(const Entry& entry) {
  const Turn turn(busy_);
  Entry* const place = at(entry.key) ? at(entry.key) : at(0);
  if (place) *place = entry;
  return place != nullptr;
}

bool PersistentSends::find(std::uint64_t key, Entry& found) {
  const Turn turn(busy_);
  const Entry* const entry = at(key);
  if (entry) found = *entry;
  return entry != nullptr;
}

void PersistentSends::forget(std::uint64_t key) {
  const Turn turn(busy_);
  if (Entry* const entry = at(key); entry && key != 0) *entry = {};
}

void begin() {
  const char* const folder = std::getenv("KIVIAT_PROFILE");
  if (profiler.state || !folder || !*folder || std::getenv("KIVIAT_PROFILE_TAKEN")) return;
  // What this process starts is another program.
  setenv("KIVIAT_PROFILE_TAKEN", "1", 1);
  KIVIAT_PMPI(Comm_rank)(world(), &profiler.rank);
  KIVIAT_PMPI(Comm_size)(world(), &profiler.ranks);
  if (!all_are_here()) {
    if (profiler.rank == 0 || std::getenv("KIVIAT_DEBUG"))
      std::fputs("kiviat: not all ranks have the profiler preloaded; nothing is counted\n", stderr);
    return;
  }
  profiler.counter = clock::counter_is_a_clock();
  const Where mine = where();
  State* const state = room(folder, description());
  // Before ranks meet: nobody can have sent anything of the program's yet.
  std::uint64_t sent = 0, received = 0;
  const bool has_interfaces = read_interfaces(sent, received);
  if (!find_distances(mine, state)) return;
  Header& header = state->header;
  header.magic = magic;
  header.rank = static_cast<Word>(profiler.rank), header.ranks = static_cast<Word>(profiler.ranks);
  header.phase = 1;
  header.counter = profiler.counter;
  int level = MPI_THREAD_SINGLE;
  KIVIAT_PMPI(Query_thread)(&level);
  header.threads = static_cast<Word>(level);
  header.socket = static_cast<Word>(mine.socket + 1), header.sockets = static_cast<Word>(mine.sockets);
  header.node = mine.node;
  header.process = static_cast<Word>(getpid());
  header.started_s = static_cast<Word>(std::time(nullptr));
  text(header.host, mine.host), text(header.node_name, mine.node_name), text(header.cpus, mine.cpus);
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  KIVIAT_PMPI(Get_library_version)(library, &length);
  library[std::strcspn(library, "\n,")] = 0;
  for (char* letter = library; *letter; ++letter)
    if (*letter == '\t') *letter = ' ';
  text(header.library, library), text(header.program, program());
  profiler.concurrent = level == MPI_THREAD_MULTIPLE;
  profiler.row[0] = state->row;
  for (int row = 1; row < rows; ++row) profiler.row[row] = profiler.row[row - 1] + profiler.ranks;
  profiler.state = state;
  pthread_atfork(nullptr, nullptr, in_child);
  header.interfaces = first_of_node && has_interfaces;
  header.sent_before = sent, header.received_before = received;
  header.stage = static_cast<Word>(Stage::counting);
  header.resident = sizeof(Profiler) + sizeof(Word) * words_without_rows;
  if (std::getenv("KIVIAT_COUNTERS")) {
    profiler.phases = new Phases(
        open_counters(),
        first_of_machine ? std::make_unique<energy::Reader>(energy::find_sources(energy::usual_places())) : nullptr);
    profiler.phases->enter(1);
  }
  header.first_ticks = clock::ticks(profiler.counter);
  header.first_ns = static_cast<Word>(1e9 * clock::now());
  profiler.refresh(header.first_ticks + 1);
  profiler.counting = true;
}

void end() {
  State* const state = profiler.state;
  if (!state || state->header.stage != static_cast<Word>(Stage::counting)) return;
  profiler.counting = false;
  Header& header = state->header;
  note_time(header, clock::ticks(profiler.counter));
  if (profiler.phases) write_phases(std::getenv("KIVIAT_PROFILE"));
  KIVIAT_PMPI(Barrier)(world());  // until then some may still be sending
  if (header.interfaces) header.interfaces = read_interfaces(header.sent_after, header.received_after);
  header.stage = static_cast<Word>(Stage::ended);
  merge(std::getenv("KIVIAT_PROFILE"), description());
}

void control(int level) {
  if (!profiler.state || profiler.state->header.stage != static_cast<Word>(Stage::counting)) return;
  if (level > 0) profiler.state->header.phase = static_cast<Word>(std::min(level, most_phases - 1));
  if (level < 0) profiler.state->header.phase = 1;
  profiler.counting = level != 0;
  if (profiler.phases) profiler.phases->enter(level == 0 ? 0 : static_cast<int>(profiler.state->header.phase));
}

}  // namespace kiviat::prof
