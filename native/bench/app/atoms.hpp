// Positions, velocities and forces of atoms: first those of this rank, then ghosts (copies of other ranks' atoms and
// periodic images), which have no velocities. Also an array type that grows.
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

// Array in huge pages that never shrinks; new elements are 0. In simulations without payload all arrays share memory.
template <class T>
class Grown {
 public:
  // Ensures room for `count` elements; grows by at least half.
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

// Vector of an atom, padded to the width of a SIMD register with a fourth number, which is 0.
struct alignas(32) Four {
  double x = 0, y = 0, z = 0, none = 0;
  double& operator[](std::size_t side) { return side == 0 ? x : side == 1 ? y : z; }
  double operator[](std::size_t side) const { return side == 0 ? x : side == 1 ? y : z; }
};

class Atoms {
 public:
  std::int64_t own = 0, all = 0;  // `all` includes ghosts
  Grown<Four> position, velocity, force;

  // Makes room for `count` atoms including ghosts, and for a dummy atom, nobody(), which is far from all others.
  void make_room(std::int64_t count) {
    for (Grown<Four>* const one : {&position, &velocity, &force}) one->make_room(count + 1);
  }
  // Index of the dummy atom behind the last ghost, used to pad neighbour lists.
  std::int32_t nobody() const { return static_cast<std::int32_t>(all); }
  void place_nobody() { position[all] = {far, far, far}; }

  std::size_t bytes() const { return position.bytes() + velocity.bytes() + force.bytes(); }

 private:
  static constexpr double far = 1e5;
};

}  // namespace kiviat::app
