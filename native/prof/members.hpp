// Members of a communicator or a window: their world ranks and their distance.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

#include "prof/handles.hpp"
#include "prof/state.hpp"

namespace kiviat::prof {

struct Members {
  std::uintptr_t key;  // the handle
  int size = 0;        // of the other side, where there is one
  int rank = 0;        // this one's; -1 where there is another side
  // Rank r is base + stride · r of the world, or table[r]; -1 is nobody of the world.
  int base = 0, stride = 0;
  int* table = nullptr;
  int others[distances] = {};
  int farthest = itself;
  Group* group = nullptr;
  // To whom neighbourhood collectives send; -1 is nobody. Found when first asked for.
  int degree = -1;
  int* neighbours = nullptr;

  int of_world(int member) const { return table ? table[member] : base + stride * member; }
  ~Members() {
    delete[] table;
    delete[] neighbours;
  }
};

// The last ones that somebody asked for; what MPI frees is forgotten.
class Remembered {
 public:
  Members* find(std::uintptr_t key) const {
    Members* found = last_.load(std::memory_order_relaxed);
    if (found && found->key == key) return found;
    found = place(key).load(std::memory_order_acquire);
    if (!found || found->key != key) return nullptr;
    last_.store(found, std::memory_order_relaxed);
    return found;
  }
  void add(Members* members) { place(members->key).store(members, std::memory_order_release); }
  void forget(const Members* members) {
    if (last_.load() == members) last_.store(nullptr);
    if (auto& at = place(members->key); at.load() == members) at.store(nullptr);
  }

 private:
  static constexpr int places = 64;
  std::atomic<Members*>& place(std::uintptr_t key) const { return places_[key * 0x9e3779b97f4a7c15u >> 58]; }
  mutable std::atomic<Members*> last_{};
  mutable std::atomic<Members*> places_[places]{};
};

// Finds out, at the first call, and leaves it with the communicator as an attribute.
Members* learn(MPI_Comm comm);
Members* learn_window(MPI_Win win);
void find_neighbours(Members& members, MPI_Comm comm);

}  // namespace kiviat::prof
