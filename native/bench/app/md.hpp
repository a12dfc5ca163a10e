// This rank's part of the molecular dynamics of a Lennard-Jones liquid: constant energy, velocity Verlet (W. Swope et
// al., J. Chem. Phys. 76, 1982), neighbour lists rebuilt every 20 steps.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>

#include "bench/app/atoms.hpp"
#include "bench/app/crystal.hpp"
#include "bench/app/ghosts.hpp"
#include "bench/app/half_list.hpp"
#include "bench/app/lennard_jones.hpp"
#include "bench/app/subdomains.hpp"
#include "bench/npb/outcome.hpp"
#include "platform/compute.hpp"
#include "platform/node.hpp"
#include "support/random.hpp"

namespace kiviat::app {

// State variables of the whole system, as LAMMPS defines and prints them; energies are per atom.
struct Thermodynamics {
  double temperature = 0, potential = 0, total = 0, pressure = 0;

  // Computes them from global sums over atoms and pairs. The centre of mass is at rest, which removes three degrees of
  // freedom.
  static Thermodynamics of(const Crystal& crystal, double squared_velocities, double energy, double virial) {
    const double atoms = static_cast<double>(crystal.atoms()), potential = energy / atoms;
    return {squared_velocities / (3 * atoms - 3), potential, potential + squared_velocities / 2 / atoms,
            (squared_velocities + virial) / (3 * crystal.volume())};
  }
  // Computes them for the initial crystal from lattice sums.
  static Thermodynamics at_start(const Crystal& crystal) {
    const double atoms = static_cast<double>(crystal.atoms());
    const auto [energy, virial] = Crystal::lattice_sums(LennardJones::cutoff, LennardJones::of);
    return of(crystal, (3 * atoms - 3) * Crystal::temperature, energy * atoms, virial * atoms);
  }
};

// Advances velocities by `kick` times the forces and, if `step` is not 0, positions by `step` times the velocities;
// then clears the forces.
KIVIAT_EVERY_WIDTH
static void accelerate(double* position, double* velocity, double* force, std::int64_t count, double kick,
                       double step) {
  if (step == 0) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) velocity[i] += kick * force[i];
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      velocity[i] += kick * force[i];
      position[i] += step * velocity[i];
      force[i] = 0;
    }
  }
}

class MolecularDynamics {
 public:
  enum Phase { pair, neighbour, integration, ghosts, migration };
  static PhaseNames phase_names() { return {{"pair", "neighbour", "integration"}, {"ghosts", "migration"}}; }

  static constexpr double skin = 0.3, reach = LennardJones::cutoff + skin, time_step = 0.005;
  static constexpr int rebuilt_every = 20;
  static constexpr double least_edge =
      2 * reach;  // minimum edge of the box: an atom must not be a neighbour of two images of another

  MolecularDynamics(MPI_Comm comm, const Crystal& crystal, const Subdomain& domain, npb::Phases& phases)
      : comm_(comm),
        crystal_(crystal),
        domain_(domain),
        phases_(phases),
        computed_(host::carries_payload()),
        list_(domain, reach),
        ghosts_(comm, domain, reach) {}

  // Creates the crystal and computes its forces. All functions from here on are collective.
  void begin() {
    int ranks;
    MPI_Comm_size(comm_, &ranks);
    atoms_.own = atoms_.all = computed_ ? 0 : crystal_.atoms() / ranks;
    atoms_.make_room(expected_with_ghosts());
    work::run({}, [&] {
      crystal_.each_atom_within(domain_.low, domain_.high, [&](const Vector& point) {
        atoms_.make_room(atoms_.own + 1);
        const Vector velocity = Crystal::raw_velocity(point);
        atoms_.position[atoms_.own] = {point[0], point[1], point[2]};
        atoms_.velocity[atoms_.own++] = {velocity[0], velocity[1], velocity[2]};
      });
    });
    if (!rest_) learn_rest();
    bring_to_rest();
    rebuild();
    add_up_forces(true);
  }

  // Executes steps; the tally is that of the last step.
  void run(int steps) {
    kick_ = time_step / 2;
    phases_.repeat(comm_, steps / rebuilt_every, [&](std::int64_t block) {
      for (int step = 1; step <= rebuilt_every; ++step)
        make_step(step == rebuilt_every, block * rebuilt_every + step == steps);
    });
    for (int left = steps % rebuilt_every; left > 0; --left) make_step(false, left == 1);
    phases_(integration, [&] { advance(time_step / 2, 0); });
  }

  // Rebuilds lists and computes forces.
  void begin_anew() {
    rebuild();
    add_up_forces(true);
  }

  Thermodynamics thermodynamics() const {
    double mine[3] = {0, tally_.energy, tally_.virial}, all[3];
    for (std::int64_t i = 0; i < atoms_.own; ++i) mine[0] += squared(atoms_.velocity[i]);
    MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, comm_);
    return Thermodynamics::of(crystal_, all[0], all[1], all[2]);
  }
  // Returns the sum of all velocities along x, y and z, and the number of atoms.
  std::array<double, 4> momentum() const {
    std::array<double, 4> mine{}, all;
    for (std::int64_t i = 0; computed_ && i < atoms_.own; ++i)
      for (std::size_t side = 0; side < 3; ++side) mine[side] += atoms_.velocity[i][side];
    mine[3] = static_cast<double>(atoms_.own);
    MPI_Allreduce(mine.data(), all.data(), 4, MPI_DOUBLE, MPI_SUM, comm_);
    return all;
  }
  // Checksum of positions and velocities on this rank; equal values mean bitwise equal atoms.
  std::uint64_t fingerprint() const {
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < atoms_.own; ++i)
      for (const Grown<Four>* const what : {&atoms_.position, &atoms_.velocity})
        for (std::size_t side = 0; side < 3; ++side)
          sum = mix(sum + random_step) ^ std::bit_cast<std::uint64_t>((*what)[i][side]);
    return sum;
  }

  const Atoms& atoms() const { return atoms_; }
  const HalfList& list() const { return list_; }
  const Subdomain& domain() const { return domain_; }
  std::size_t bytes() const { return atoms_.bytes() + list_.bytes() + ghosts_.bytes(); }

 private:
  static double squared(const Four& v) { return v.x * v.x + v.y * v.y + v.z * v.z; }

  // Correction of the initial velocities: the mean to subtract, and the factor for the initial temperature. Computed
  // once, because global sums may differ in the last bit while repeated runs must not.
  struct Rest {
    Vector mean;
    double factor;
  };
  void learn_rest() {
    const std::array<double, 4> sum = momentum();
    rest_ = {{sum[0] / sum[3], sum[1] / sum[3], sum[2] / sum[3]}, 1};
    double mine = 0, all = 0;
    for (std::int64_t i = 0; computed_ && i < atoms_.own; ++i) mine += squared(at_rest(atoms_.velocity[i]));
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, comm_);
    rest_->factor = std::sqrt(Crystal::temperature * static_cast<double>(3 * crystal_.atoms() - 3) / all);
  }
  Four at_rest(const Four& velocity) const {
    const auto& [mean, factor] = *rest_;
    return {factor * (velocity.x - mean[0]), factor * (velocity.y - mean[1]), factor * (velocity.z - mean[2])};
  }
  void bring_to_rest() {
    for (std::int64_t i = 0; computed_ && i < atoms_.own; ++i) {
      Four& velocity = atoms_.velocity[i];
      velocity = at_rest(velocity);
    }
  }

  void make_step(bool rebuilt, bool tallied) {
    phases_(integration, [&] { advance(kick_, time_step); });
    kick_ = time_step;
    if (rebuilt)
      rebuild();
    else
      phases_(ghosts, [&] { ghosts_.update(atoms_); });
    add_up_forces(tallied);
  }

  void advance(double kick, double step) {
    const double own = static_cast<double>(atoms_.own);
    work::run({.flops = own * (step == 0 ? 6 : 12), .bytes = own * (step == 0 ? 3 : 6) * sizeof(Four)}, [&] {
      accelerate(reinterpret_cast<double*>(atoms_.position.data()), reinterpret_cast<double*>(atoms_.velocity.data()),
                 reinterpret_cast<double*>(atoms_.force.data()), 4 * atoms_.own, kick, step);
    });
  }

  void rebuild() {
    phases_(migration, [&] { ghosts_.move_on(atoms_, rebuilt_every * time_step, Crystal::temperature / 2); });
    phases_(neighbour, [&] {
      // Cost: reads coordinates to find the cell; reads and writes positions and velocities to sort them.
      const double own = static_cast<double>(atoms_.own);
      work::run({.flops = 6 * own, .bytes = 7 * sizeof(Four) * own}, [&] { list_.sort(atoms_); });
    });
    phases_(migration, [&] { ghosts_.find(atoms_); });
    phases_(neighbour, [&] {
      const double own = static_cast<double>(atoms_.own), all = static_cast<double>(atoms_.all);
      work::run({.flops = 9 * candidates * own, .bytes = own * 4 * pairs_of_atom(reach) + 64 * all}, [&] {
        atoms_.place_nobody();
        list_.build(atoms_);
        std::fill_n(atoms_.force.data(), atoms_.all + 1, Four{});
      });
    });
  }

  void add_up_forces(bool tallied) {
    phases_(pair, [&] {
      const double own = static_cast<double>(atoms_.own), all = static_cast<double>(atoms_.all);
      const double listed = pairs_of_atom(reach), within = pairs_of_atom(LennardJones::cutoff);
      work::run({.flops = own * (8 * listed + 18 * within), .bytes = own * 4 * listed + all * 3 * sizeof(Four)}, [&] {
        tally_ = {};
        if (tallied)
          lennard_jones::add_forces_and_tally(list_, atoms_.position.data(), atoms_.force.data(), tally_);
        else
          lennard_jones::add_forces_only(list_, atoms_.position.data(), atoms_.force.data());
      });
    });
    phases_(ghosts, [&] { ghosts_.add_forces(atoms_); });
  }

  // Expected number of pairs per atom at this density: half of the atoms within `radius`. The next function returns the
  // expected number of candidates per atom: half of the atoms in the 5 x 5 x 5 cells searched, whose width is half of
  // the reach.
  static double pairs_of_atom(double radius) {
    return 2 * std::numbers::pi / 3 * radius * radius * radius * Crystal::density;
  }
  static constexpr double candidates = 125.0 / 2 * (reach / 2) * (reach / 2) * (reach / 2) * Crystal::density;

  // Upper bound on the number of atoms including ghosts, except for small fluctuations.
  std::int64_t expected_with_ghosts() const {
    double volume = 1;
    for (std::size_t side = 0; side < 3; ++side) volume *= domain_.thickness(side) + (side == 2 ? 1 : 2) * reach;
    return std::llround(volume * Crystal::density);
  }

  MPI_Comm comm_;
  Crystal crystal_;
  Subdomain domain_;
  npb::Phases& phases_;
  bool computed_;
  Atoms atoms_;
  HalfList list_;
  Ghosts ghosts_;
  Tally tally_;
  std::optional<Rest> rest_;
  double kick_ = 0;
};

}  // namespace kiviat::app
