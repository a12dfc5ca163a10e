// Positions, velocities and forces of atoms: those of this rank, and behind them, with positions and forces only,
// ghosts, which are other ranks' and images of its own. And memory that grows with their number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "bench/app/crystal.hpp"
#include "kernels/huge_pages.hpp"

namespace kiviat::app {

// Like a vector that never shrinks, in huge pages; new elements are 0. Where nothing is computed, all are in one place.
template <class T>
class Grown {
 public:
  // Room for so many; at least half as much again as there was.
  void make_room(std::int64_t count) {
    if (count <= room_) return;
    const std::int64_t room = std::max(count, room_ + room_ / 2);
    HugePages memory(bytes_of(room));
    if (!memory) throw std::bad_alloc();
    if (room_ > 0 && memory.as<T>() != data()) std::memcpy(memory.as<T>(), data(), bytes());
    memory_ = std::move(memory), room_ = room;
  }
  T* data() const { return memory_.as<T>(); }
  T& operator[](std::int64_t at) const { return data()[at]; }
  std::size_t bytes() const { return bytes_of(room_); }

 private:
  static std::size_t bytes_of(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(T); }

  HugePages memory_;
  std::int64_t room_ = 0;
};

// A vector of an atom, padded to the width of a register by a fourth number, which is 0.
struct alignas(32) Four {
  double x = 0, y = 0, z = 0, none = 0;
  double& operator[](std::size_t side) { return side == 0 ? x : side == 1 ? y : z; }
  double operator[](std::size_t side) const { return side == 0 ? x : side == 1 ? y : z; }
};

class Atoms {
 public:
  std::int64_t own = 0, all = 0;  // with ghosts
  Grown<Four> position, velocity, force;

  // Makes room for `count` atoms including ghosts, and for one more, nobody(), which is far from all others.
  void make_room(std::int64_t count) {
    for (Grown<Four>* const one : {&position, &velocity, &force}) one->make_room(count + 1);
  }
  // Behind the last ghost, where lists that need to be filled up point to.
  std::int32_t nobody() const { return static_cast<std::int32_t>(all); }
  void place_nobody() { position[all] = {far, far, far}; }

  std::size_t bytes() const { return position.bytes() + velocity.bytes() + force.bytes(); }

 private:
  static constexpr double far = 1e5;
};

}  // namespace kiviat::app
