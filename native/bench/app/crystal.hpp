// Initial state of the Lennard-Jones liquid: a face-centred cubic crystal with the velocities of LAMMPS' benchmark
// in.lj, in reduced units (sigma, epsilon and the mass of an atom are 1).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "bench/app/vector.hpp"

namespace kiviat::app {

// Minimal standard generator (S. Park and K. Miller, "Random number generators: good ones are hard to find", CACM
// 31(10), 1988), seeded by a point in space, so that an atom's velocity depends on its position only. LAMMPS calls this
// `loop geom` in its documentation of the command `velocity`.
class PointNumbers {
 public:
  PointNumbers(std::int32_t seed, const Vector& point) {
    // R. Jenkins' hash ("Algorithm alley: hash functions", Dr. Dobb's Journal, September 1997) of the bytes of the seed
    // and the coordinates, taken as signed numbers.
    std::uint32_t hash = 0;
    const auto take = [&](std::uint64_t word, int bytes) {
      for (int at = 0; at < bytes; ++at) {
        hash += static_cast<std::uint32_t>(static_cast<std::int8_t>(word >> (8 * at)));
        hash += hash << 10;
        hash ^= hash >> 6;
      }
    };
    take(static_cast<std::uint32_t>(seed), 4);
    for (const double coordinate : point) take(std::bit_cast<std::uint64_t>(coordinate), 8);
    hash += hash << 3;
    hash ^= hash >> 11;
    hash += hash << 15;
    state_ = hash & 0x7ffffff;
    if (state_ == 0) state_ = 1;
    for (int unused = 0; unused < 5; ++unused) (*this)();
  }
  // Returns the next number, between 0 and 1.
  double operator()() {
    state_ = 16807 * state_ % modulus;
    return 1.0 / modulus * static_cast<double>(state_);
  }

 private:
  static constexpr std::int64_t modulus = 0x7fffffff;
  std::int64_t state_;
};

struct Crystal {
  static constexpr double density = 0.8442, temperature = 1.44;
  static constexpr int seed = 87287, atoms_of_cell = 4;

  std::array<std::int64_t, 3> cells;

  static double edge_of_cell() { return std::pow(atoms_of_cell / density, 1.0 / 3); }
  std::int64_t atoms() const { return atoms_of_cell * cells[0] * cells[1] * cells[2]; }
  double edge(std::size_t side) const { return edge_of_cell() * static_cast<double>(cells[side]); }
  double volume() const { return edge(0) * edge(1) * edge(2); }

  // Calls use(point) for each atom in [low, high) along each side.
  template <class Use>
  void each_atom_within(const Vector& low, const Vector& high, Use use) const {
    static constexpr double basis[atoms_of_cell][3] = {{0, 0, 0}, {0.5, 0.5, 0}, {0.5, 0, 0.5}, {0, 0.5, 0.5}};
    const double edge = edge_of_cell();
    std::array<std::int64_t, 3> first, last;
    for (std::size_t side = 0; side < 3; ++side) {
      first[side] = std::max<std::int64_t>(static_cast<std::int64_t>(low[side] / edge) - 1, 0);
      last[side] = std::min(static_cast<std::int64_t>(high[side] / edge) + 1, cells[side]);
    }
    for (std::int64_t z = first[2]; z < last[2]; ++z)
      for (std::int64_t y = first[1]; y < last[1]; ++y)
        for (std::int64_t x = first[0]; x < last[0]; ++x)
          for (const auto& offset : basis) {
            const Vector point = {(static_cast<double>(x) + offset[0]) * edge,
                                  (static_cast<double>(y) + offset[1]) * edge,
                                  (static_cast<double>(z) + offset[2]) * edge};
            bool within = true;
            for (std::size_t side = 0; side < 3; ++side)
              within = within && point[side] >= low[side] && point[side] < high[side];
            if (within) use(point);
          }
  }

  // Velocity before the mean is subtracted and velocities are scaled to the temperature.
  static Vector raw_velocity(const Vector& point) {
    PointNumbers number(seed, point);
    const double x = number() - 0.5, y = number() - 0.5;
    return {x, y, number() - 0.5};
  }

  // Lattice sums over the neighbours of one atom within `reach`, which must be less than half of any edge: half of each
  // pair's energy and, for the virial, half of force times distance.
  struct Sums {
    double energy = 0, virial = 0;
  };
  template <class Potential>
  static Sums lattice_sums(double reach, const Potential& potential) {
    const double half = edge_of_cell() / 2;
    const int most = static_cast<int>(reach / half) + 1;
    Sums sums;
    for (int x = -most; x <= most; ++x)
      for (int y = -most; y <= most; ++y)
        for (int z = -most; z <= most; ++z) {
          const double squared = half * half * (x * x + y * y + z * z);
          if ((x + y + z) % 2 != 0 || squared == 0 || squared >= reach * reach) continue;
          const auto [energy, virial] = potential(squared);
          sums.energy += energy / 2, sums.virial += virial / 2;
        }
    return sums;
  }
};

}  // namespace kiviat::app
