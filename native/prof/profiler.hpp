// Counts of this process, from its start to its end.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "platform/tsc.hpp"
#include "prof/call.hpp"
#include "prof/members.hpp"
#include "prof/state.hpp"
#include "prof/where.hpp"

namespace kiviat::prof {

// Requests that are under way: how far their messages go. A request that found no room, or lost its own to another, is
// of unknown distance.
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
  // -1 where it is not known.
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

// Persistent sends: what each start of them sends.
class PersistentSends {
 public:
  struct Entry {
    std::uint64_t key;
    std::int64_t bytes;
    int target;  // of the world; -1 sends nothing
    int distance;
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
  std::uint64_t refresh_at = 0;
  std::uint8_t* distances_of_world = nullptr;
  std::atomic<std::uint8_t> slot_of[most_phases][256] = {};  // 1 + slot; 0 where there is none yet
  Remembered communicators, windows;
  Requests requests;
  PersistentSends persistent;
  Phases* phases = nullptr;  // where somebody asked
  int communicator_key = MPI_KEYVAL_INVALID, window_key = MPI_KEYVAL_INVALID;
#ifdef KIVIAT_SIMULATED
  int inside = 0;
  std::vector<Word> watched;  // what was counted when the program began to watch
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
  // A call of this thread, of several: all but the one that began are told apart by the times of their calls.
  void see_thread(std::uint64_t begin_ticks, std::uint64_t end_ticks);
  // Notes the time, so that also a profile without an end says how long a tick is.
  void refresh(std::uint64_t now_ticks);
  void note_time(std::uint64_t now_ticks);
  // Counts in `room`, whose words are 0, from start() on.
  void take(State* room, const Where& mine, const std::string& program);
  void start();
};

// What counts, and whether one is inside of a call that is counted: MPIs call themselves, Fortran's by way of C's.
#ifdef KIVIAT_SIMULATED
Profiler& profiler();  // of the simulated rank that runs now: all are in one process
inline int& nested() { return profiler().inside; }
#else
extern Profiler the_profiler;
extern constinit thread_local int nested_here __attribute__((tls_model("initial-exec")));
inline Profiler& profiler() { return the_profiler; }
inline int& nested() { return nested_here; }
#endif

inline bool counts() { return profiler().counting.load(std::memory_order_relaxed) && nested() == 0; }

// After MPI_Init and before MPI_Finalize; collective.
void begin();
void end();
// MPI_Pcontrol: 0 stops counting, n > 0 goes on with phase n, -n goes back to phase 1.
void control(int level);

}  // namespace kiviat::prof
