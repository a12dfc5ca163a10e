#include "prof/profiler.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>

#include "platform/clock.hpp"
#include "prof/event.hpp"
#include "prof/packed.hpp"
#include "prof/phases.hpp"

namespace kiviat::prof {

namespace {

constexpr Word refresh_ticks = Word{1} << 29;  // some tenths of a second at typical clock rates

static_assert(std::size(names) < 255);

template <std::size_t N>
void text(char (&to)[N], const std::string& from) {
  std::snprintf(to, N, "%s", from.c_str());
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
#define KIVIAT_TEXT(name, bytes)                                                             \
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
    if (std::atomic_ref(slot.key).compare_exchange_strong(unused, at + 1 < most_slots ? key : Word{256}) ||
        unused == key || at + 1 == most_slots) {
      if (at + 1 == most_slots) ++state->header.lost_slots;
      slot_of[state->header.phase][static_cast<int>(call)] = static_cast<std::uint8_t>(at + 1);
      return slot;
    }
  }
  std::abort();  // unreachable: the last slot accepts every call
}

void Profiler::take(State* room, const Location& mine, const std::string& program) {
  state = room;
  Header& header = state->header;
  header.magic = magic;
  header.rank = static_cast<Word>(rank), header.ranks = static_cast<Word>(ranks);
  header.phase = 1;
  header.counter = counter;
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
  text(header.library, library), text(header.program, program);
  concurrent = level == MPI_THREAD_MULTIPLE;
  row[0] = state->row;
  for (int at = 1; at < rows; ++at) row[at] = row[at - 1] + ranks;
  header.resident = sizeof(Profiler) + sizeof(Word) * words_without_rows;
}

namespace {

// Time in ticks at which this thread's last call ended, 0 before its first call, and the off_ticks by then.
#ifdef KIVIAT_SIMULATED
std::uint64_t seen_until, seen_off;
bool began;
#else
constinit thread_local std::uint64_t seen_until __attribute__((tls_model("initial-exec"))) = 0;
constinit thread_local std::uint64_t seen_off __attribute__((tls_model("initial-exec"))) = 0;
constinit thread_local bool began __attribute__((tls_model("initial-exec"))) = false;
#endif

}  // namespace

void Profiler::see_thread(Word begin_ticks, Word end_ticks) {
  if (began) return;
  const Word off = std::atomic_ref(state->header.off_ticks).load(std::memory_order_relaxed);
  if (seen_until == 0) add(state->header.other_threads, 1), seen_until = begin_ticks, seen_off = off;
  // Counting may have been switched off during the call before.
  add(state->header.other_ticks, end_ticks - seen_until - std::min(off - seen_off, end_ticks - seen_until));
  seen_until = end_ticks, seen_off = off;
}

void Profiler::start() {
  began = true;
  Header& header = state->header;
  header.stage = static_cast<Word>(Stage::counting);
  header.first_ticks = clock::ticks(counter);
  header.first_ns = static_cast<Word>(1e9 * clock::now());
  refresh(header.first_ticks + 1);
  counting = true;
}

void Profiler::note_time(Word now_ticks) {
  state->header.last_ticks = now_ticks;
  state->header.last_ns = static_cast<Word>(1e9 * clock::now());
}

void Profiler::count(bool on) {
  const Word now = clock::ticks(counter);
  note_time(now);
  if (!counting) add(state->header.off_ticks, now - off_since);
  off_since = now;
  counting = on;
}

void Profiler::refresh(Word now_ticks) {
  note_time(now_ticks);
  refresh_at = now_ticks + std::min(refresh_ticks, now_ticks - state->header.first_ticks);
}

struct PersistentRequests::Turn {
  explicit Turn(std::atomic_flag& busy) : busy_(busy) {
    while (busy_.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  ~Turn() { busy_.clear(std::memory_order_release); }
  std::atomic_flag& busy_;
};

PersistentRequests::Entry* PersistentRequests::at(std::uint64_t key) {
  for (Entry& entry : entries_)
    if (entry.key == key) return &entry;
  return nullptr;
}

bool PersistentRequests::add(const Entry& entry) {
  const Turn turn(busy_);
  Entry* const place = at(entry.key) ? at(entry.key) : at(0);
  delete (place ? place : &entry)->increments;
  if (place) *place = entry;
  return place != nullptr;
}

bool PersistentRequests::find(std::uint64_t key, Entry& found) {
  const Turn turn(busy_);
  const Entry* const entry = at(key);
  if (entry) found = *entry;
  return entry != nullptr;
}

void PersistentRequests::forget(std::uint64_t key) {
  const Turn turn(busy_);
  if (Entry* const entry = at(key); entry && key != 0) {
    delete entry->increments;
    *entry = {};
  }
}

void control(int level) {
  if (!profiler().state || profiler().state->header.stage != static_cast<Word>(Stage::counting)) return;
  if (level > 0) profiler().state->header.phase = static_cast<Word>(std::min(level, most_phases - 1));
  if (level < 0) profiler().state->header.phase = 1;
  profiler().count(level != 0);
#ifndef KIVIAT_SIMULATED  // simulated processors have no hardware counters
  if (profiler().phases) profiler().phases->enter(level == 0 ? 0 : static_cast<int>(profiler().state->header.phase));
#endif
}

}  // namespace kiviat::prof
