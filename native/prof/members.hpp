// Members of a communicator or window: their world ranks and their distances from this rank.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "prof/handles.hpp"
#include "prof/state.hpp"

namespace kiviat::prof {

struct Members {
  std::uintptr_t key;  // handle of the communicator or window
  int size = 0;        // number of members; of the remote group if this is an intercommunicator
  int rank = 0;        // rank of this process; -1 in an intercommunicator
  // World rank of member r: base + stride · r, or table[r] if set; -1 if the process is not in MPI_COMM_WORLD, or if
  // there is no such member.
  int base = 0, stride = 0;
  int* table = nullptr;
  int others[distances] = {};
  int farthest = itself;
  Group* group = nullptr;
  std::int64_t reduced = 0;  // bytes of contributions to allreduce
  // World ranks to which neighbourhood collectives send, or `proc_null`; `degree` is -1 until first needed.
  static constexpr int proc_null = -2;  // unlike -1, not a process outside of MPI_COMM_WORLD
  int degree = -1;
  int* neighbours = nullptr;
  Members* forgotten_before = nullptr;

  int of_world(int member) const {
    if (member < 0 || member >= size) return -1;
    return table ? table[member] : base + stride * member;
  }
  ~Members() { delete_tables(); }
  void delete_tables() {
    delete[] std::exchange(table, nullptr);
    delete[] std::exchange(neighbours, nullptr);
  }
};

// Cache of members by handle: direct-mapped, read without locks. Entries are removed when MPI frees the handle.
class Remembered {
 public:
  Members* find(std::uintptr_t key) const {
    Members* found = last_.load(std::memory_order_acquire);
    if (found && found->key == key) return found;
    found = place(key).load(std::memory_order_acquire);
    if (!found || found->key != key) return nullptr;
    last_.store(found, std::memory_order_release);
    return found;
  }
  void add(Members* members) { place(members->key).store(members, std::memory_order_release); }
  // Takes the members over. If threads are `concurrent`, others may be reading the key, in search of their own, so that
  // it stays until the process ends.
  void forget(Members* members, bool concurrent) {
    if (last_.load() == members) last_.store(nullptr);
    if (auto& at = place(members->key); at.load() == members) at.store(nullptr);
    if (!concurrent) return delete members;
    members->delete_tables();
    members->forgotten_before = forgotten_.load();
    while (!forgotten_.compare_exchange_weak(members->forgotten_before, members)) {
    }
  }

 private:
  static constexpr int places = 64;
  std::atomic<Members*>& place(std::uintptr_t key) const { return places_[key * 0x9e3779b97f4a7c15u >> 58]; }
  mutable std::atomic<Members*> last_{};
  mutable std::atomic<Members*> places_[places]{};
  std::atomic<Members*> forgotten_{};  // the latest one
};

// Both functions determine the members at the first call on a handle, cache them, and attach them to the handle as an
// MPI attribute.
Members* learn(MPI_Comm comm);
Members* learn_window(MPI_Win win);
void find_neighbours(Members& members, MPI_Comm comm);

}  // namespace kiviat::prof
