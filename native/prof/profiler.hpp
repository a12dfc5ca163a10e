// The profiler of this process: counters, and caches of handles.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "platform/tsc.hpp"
#include "prof/call.hpp"
#include "prof/location.hpp"
#include "prof/members.hpp"
#include "prof/state.hpp"

namespace kiviat::prof {

// Distances of active requests and matched messages, in a 4-way set-associative cache that needs no lock. An evicted
// request has unknown distance.
class Requests {
 public:
  void remember(std::uint64_t key, int distance) {
    std::uint64_t* const set = set_of(key);
    const std::uint64_t word = key << 3 | static_cast<std::uint64_t>(distance);
    int at = 0;
    while (at < ways - 1 && set[at] >> 3 != key && set[at] != 0) ++at;
    if (set[at] >> 3 != key && set[at] != 0) at = static_cast<int>(key >> 4) & (ways - 1);
    store(set[at], word);
  }
  // Returns -1 if the request is not cached.
  int distance(std::uint64_t key) {
    std::uint64_t* const set = set_of(key);
    for (int at = 0; at < ways; ++at)
      if (const std::uint64_t word = load(set[at]); word >> 3 == key) return static_cast<int>(word & 7);
    return -1;
  }

 private:
  static constexpr int ways = 4, sets = 256;
  static std::uint64_t load(std::uint64_t& word) { return std::atomic_ref(word).load(std::memory_order_relaxed); }
  static void store(std::uint64_t& word, std::uint64_t value) {
    std::atomic_ref(word).store(value, std::memory_order_relaxed);
  }
  std::uint64_t* set_of(std::uint64_t key) { return sets_[key * 0x9e3779b97f4a7c15u >> 56]; }
  std::uint64_t sets_[sets][ways] = {};
};

// A counter that the start of a persistent collective increments: `word`, or if that is null, word `of_slot` of the
// slot of the starting call.
struct Increment {
  Word* word;
  std::size_t of_slot;
  Word value;
};
using Increments = std::vector<Increment>;

// Persistent requests: bytes and target of each start, or the increments of a collective, which the table owns.
class PersistentRequests {
 public:
  struct Entry {
    std::uint64_t key;
    std::int64_t bytes;
    int target;  // world rank; -1 for receives and MPI_PROC_NULL
    int distance;
    Increments* increments = nullptr;
  };
  bool add(const Entry& entry);
  bool find(std::uint64_t key, Entry& found);
  void forget(std::uint64_t key);

 private:
  static constexpr int most = 256;
  Entry entries_[most] = {};
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  struct Turn;
  Entry* at(std::uint64_t key);
};

class Phases;

struct Profiler {
  std::atomic<bool> counting{false};
  bool counter = false, concurrent = false;
  int rank = 0, ranks = 0;
  State* state = nullptr;
  Cell* row[rows] = {};
  std::uint64_t refresh_at = 0, off_since = 0;
  std::uint8_t* distances_of_world = nullptr;
  std::atomic<std::uint8_t> slot_of[most_phases][256] =
      {};  // by phase and call: 1 + index of the slot; 0 before the first call
  Remembered communicators, windows;
  Requests requests;
  PersistentRequests persistent;
  Phases* phases = nullptr;  // null unless KIVIAT_COUNTERS is set
  int communicator_key = MPI_KEYVAL_INVALID, window_key = MPI_KEYVAL_INVALID;
#ifdef KIVIAT_SIMULATED
  int inside = 0;
  std::vector<Word> watched;  // counters at the last kiviat_profiler_watch()
#endif

  int distance(int of_world) const {
    if (of_world < 0) return unknown;
    return distances_of_world[of_world];
  }
  void add(Word& word, Word value) const {
    if (concurrent)
      std::atomic_ref(word).fetch_add(value, std::memory_order_relaxed);
    else
      word += value;
  }
  // Slot of a call in this phase; calls that find no free slot share the last one.
  Slot& slot(Call call) {
    const std::uint8_t found = slot_of[state->header.phase][static_cast<int>(call)].load(std::memory_order_relaxed);
    return found ? state->slots[found - 1] : new_slot(call);
  }
  Slot& new_slot(Call call);
  // With MPI_THREAD_MULTIPLE: accounts the time from the first to the last call of each thread other than the one that
  // initialised MPI.
  void see_thread(std::uint64_t begin_ticks, std::uint64_t end_ticks);
  // Stores the current time in ticks and seconds, so that ticks can be converted even if the process dies.
  void refresh(std::uint64_t now_ticks);
  void note_time(std::uint64_t now_ticks);
  // Switches counting on or off, and accounts the time for which it was off.
  void count(bool on);
  // Uses the zero-initialised `room` for all counters and fills in its header; start() begins counting.
  void take(State* room, const Location& mine, const std::string& program);
  void start();
};

// The profiler, and the nesting flag: non-zero inside a profiled call, so that calls which an MPI library makes itself
// (Fortran bindings call C's) are not counted again.
#ifdef KIVIAT_SIMULATED
Profiler& profiler();  // of the simulated rank that runs; all ranks live in one process
inline int& nested() { return profiler().inside; }
#else
extern Profiler the_profiler;
extern constinit thread_local int nested_here __attribute__((tls_model("initial-exec")));
inline Profiler& profiler() { return the_profiler; }
inline int& nested() { return nested_here; }
#endif

inline bool counts() { return profiler().counting.load(std::memory_order_relaxed) && nested() == 0; }

// Called after MPI_Init and before MPI_Finalize; collective.
void begin();
void end();
// Called by MPI_Session_init: notes in the folder of the profile that this process has no MPI_Init.
void note_session();
// MPI_Pcontrol(level): 0 stops counting, n > 0 continues in phase n, n < 0 continues in phase 1.
void control(int level);

}  // namespace kiviat::prof
