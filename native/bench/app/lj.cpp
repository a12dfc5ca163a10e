// Lennard-Jones liquid: molecular dynamics with short-range forces, LAMMPS' benchmark in.lj. Each rank has a part of
// the box. In every step it receives positions of nearby atoms of its neighbours and returns the forces on them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/app/md.hpp"
#include "bench/memory.hpp"
#include "bench/npb/outcome.hpp"
#include "support/random.hpp"

using namespace kiviat;
using namespace kiviat::app;

namespace {

struct Shape {
  Crystal crystal;
  ProcessGrid grid;
};

constexpr Bounds cells_of_side{1, 1 << 16};

Shape shape_of(const Trial& t) {
  const std::array<std::int64_t, 3> cells = {t.integer("nx"), t.integer("ny"), t.integer("nz")};
  const bool weak = t.text("scaling") == "weak";
  const std::string size = "nx=" + t.text("nx") + " ny=" + t.text("ny") + " nz=" + t.text("nz");
  const auto grid = ProcessGrid::of(t.ranks(), cells, weak);
  if (!grid)
    throw Skip("scaling=strong: " + size + " cells are too few to give each of " + std::to_string(t.ranks()) +
               " ranks at least one cell along each side");
  Shape shape{{cells}, *grid};
  for (std::size_t side = 0; weak && side < 3; ++side) shape.crystal.cells[side] *= grid->ranks[side];
  const Crystal& crystal = shape.crystal;
  for (std::size_t side = 0; side < 3; ++side)
    if (crystal.edge(side) < MolecularDynamics::least_edge) {
      char words[160];
      std::snprintf(words, sizeof words,
                    ": the box is %.4g sigma long in %c, shorter than 2 (cutoff + skin) = %.4g sigma; give 4 cells",
                    crystal.edge(side), "xyz"[side], MolecularDynamics::least_edge);
      throw UsageError(size + words);
    }
  constexpr double bytes_of_atom = 500;  // approximately, including ghosts, unless subdomains are thin
  const double own = static_cast<double>(crystal.atoms()) / t.ranks();
  if (own > 40e6)
    throw UsageError(size + ": " + std::to_string(std::llround(own)) +
                     " atoms on a rank exceed the limit of 40000000; give fewer cells");
  refuse_more_than_available(t, size, bytes_of_atom * own);
  return shape;
}

class Program {
 public:
  explicit Program(Trial& t)
      : t_(t),
        steps_(t.count_of("steps")),
        shape_(shape_of(t)),
        md_(t.comm(), shape_.crystal, Subdomain(shape_.crystal, shape_.grid, t.rank()), phases_) {}

  void operator()() {
    if (computed_) {
      md_.begin();
      md_.run(std::min(steps_, 2));  // warm-up: memory and code are loaded, connections exist
    }
    md_.begin();
    const Thermodynamics start = computed_ ? md_.thermodynamics() : Thermodynamics{};
    phases_.reset();
    const double time_s = t_.measured("lj", [&] { md_.run(steps_); });
    tell(time_s, phases_.tell(t_));
    if (!computed_) return check(true, "");
    const Thermodynamics end = md_.thermodynamics();
    const std::uint64_t fingerprint = md_.fingerprint();
    tell_states(start, end);
    check_start(start);
    check_end(start, end);
    check_forces();
    check_again(end, fingerprint);
  }

 private:
  void tell(double time_s, const std::vector<double>& seconds) const {
    const double atoms = static_cast<double>(shape_.crystal.atoms()), rate = atoms * steps_ / time_s;
    t_.report("rate", rate);
    t_.report("rank_rate", rate / t_.ranks());
    t_.report("time", time_s);
    t_.report("step_time", time_s / steps_);
    t_.report("pair_time", seconds[MolecularDynamics::pair]);
    t_.report("neighbour_time", seconds[MolecularDynamics::neighbour]);
    t_.report("communication_time", seconds[MolecularDynamics::ghosts] + seconds[MolecularDynamics::migration]);
    t_.report("other_time", seconds[MolecularDynamics::integration]);
    t_.number("atoms", shape_.crystal.atoms());
    t_.note("atoms", std::to_string(shape_.crystal.atoms()));
    const auto& [nx, ny, nz] = shape_.crystal.cells;
    t_.note("cells", std::to_string(nx) + " x " + std::to_string(ny) + " x " + std::to_string(nz));
    const auto& [px, py, pz] = shape_.grid.ranks;
    t_.note("grid", std::to_string(px) + " x " + std::to_string(py) + " x " + std::to_string(pz) + " ranks");
  }

  void tell_states(const Thermodynamics& start, const Thermodynamics& end) const {
    const Table::Axis step{"step", {"0", std::to_string(steps_)}};
    Table& table =
        t_.table("state", "1", "lower", {step, {"quantity", {"temperature", "potential", "total", "pressure"}}});
    std::size_t row = 0;
    for (const auto& [temperature, potential, total, pressure] : {start, end}) {
      table.at({row, 0}) = temperature, table.at({row, 1}) = potential;
      table.at({row, 2}) = total, table.at({row, 3}) = pressure;
      ++row;
    }
    t_.report("drift", std::abs(end.total / start.total - 1));
    double pairs = static_cast<double>(md_.list().pairs()), mine = static_cast<double>(md_.bytes()), bytes = 0;
    t_.note("neighbours", std::to_string(2 * pairs / static_cast<double>(md_.list().atoms())) + " of an atom (rank 0)");
    MPI_Allreduce(&mine, &bytes, 1, MPI_DOUBLE, MPI_SUM, t_.comm());
    t_.report("memory", bytes / static_cast<double>(shape_.crystal.atoms()));
  }

  // --- verification ------------------------------------------------------------------------------------------

  // Reports only the first deviation, because the others follow from it.
  void check(bool good, const std::string& wrong) { good_ = good_ && t_.confirm(good, wrong); }
  void check_near(const char* what, double found, double expected, double tolerance) {
    char words[160];
    std::snprintf(words, sizeof words, "%s is %.12g, not %.12g", what, found, expected);
    check(std::abs(found - expected) <= tolerance * std::max(1.0, std::abs(expected)), words);
  }

  // The energy and pressure of the initial crystal must equal the lattice sums.
  void check_start(const Thermodynamics& start) {
    const Thermodynamics expected = Thermodynamics::at_start(shape_.crystal);
    check_near("temperature before the first step", start.temperature, expected.temperature, rounding);
    check_near("energy before the first step", start.total, expected.total, rounding);
    check_near("pressure before the first step", start.pressure, expected.pressure, rounding);
  }

  // Energy must be conserved approximately. It is not conserved exactly, because the potential is truncated and atoms
  // may come nearer than the skin allows before lists are rebuilt, as in LAMMPS' benchmark.
  void check_end(const Thermodynamics& start, const Thermodynamics& end) {
    check_near("energy after the last step", end.total, start.total, most_drift);
    const std::array<double, 4> momentum = md_.momentum();
    const double atoms = static_cast<double>(shape_.crystal.atoms());
    check_near("the number of atoms", momentum[3], atoms, 0);
    for (std::size_t side = 0; side < 3; ++side) check_near("the mean velocity", momentum[side] / atoms, 0, rounding);
  }

  // Recomputes the forces on some atoms of some ranks from all other atoms, without lists and cells.
  void check_forces() {
    if (steps_ % MolecularDynamics::rebuilt_every != 0)
      md_.begin_anew();  // otherwise the last step has rebuilt the lists
    constexpr std::size_t samples = 64;
    const Atoms& atoms = md_.atoms();
    std::vector<double> mine(6 * samples), all(6 * samples), summed(3 * samples), direct(3 * samples);
    for (std::size_t k = 0; k < samples; ++k) {
      const std::uint64_t random = random_at(t_.seed(), k);
      if (static_cast<int>(random % static_cast<std::uint64_t>(t_.ranks())) != t_.rank() || atoms.own == 0) continue;
      const auto i = static_cast<std::int64_t>(mix(random) % static_cast<std::uint64_t>(atoms.own));
      for (std::size_t side = 0; side < 3; ++side)
        mine[6 * k + side] = atoms.position[i][side], mine[6 * k + 3 + side] = atoms.force[i][side];
    }
    MPI_Allreduce(mine.data(), all.data(), static_cast<int>(all.size()), MPI_DOUBLE, MPI_SUM, t_.comm());
    for (std::size_t k = 0; k < samples; ++k) {
      Vector force{};
      for (std::int64_t i = 0; i < atoms.own; ++i) add_force(&all[6 * k], atoms.position[i], force);
      std::ranges::copy(force, summed.begin() + static_cast<std::ptrdiff_t>(3 * k));
    }
    MPI_Allreduce(summed.data(), direct.data(), static_cast<int>(direct.size()), MPI_DOUBLE, MPI_SUM, t_.comm());
    for (std::size_t k = 0; k < samples; ++k)
      for (std::size_t side = 0; side < 3; ++side)
        worst_ = std::max(worst_, off(all[6 * k + 3 + side], direct[3 * k + side]));
    char words[160];
    std::snprintf(words, sizeof words,
                  "the force on one of %zu atoms differs by %.3g of itself from the sum over all pairs", samples,
                  worst_);
    check(worst_ <= force_rounding, words);
  }
  static double off(double found, double expected) {
    const double gap = std::abs(found - expected) / std::max(1.0, std::abs(expected));
    return std::isnan(gap) ? INFINITY : gap;
  }
  void add_force(const double* at, const Four& other, Vector& force) const {
    Vector apart;
    double squared = 0;
    for (std::size_t side = 0; side < 3; ++side) {
      const double box = md_.domain().box[side], away = at[side] - other[side];
      apart[side] = away - box * std::round(away / box);
      squared += apart[side] * apart[side];
    }
    if (squared == 0 || squared >= LennardJones::cutoff * LennardJones::cutoff) return;
    const double strength = LennardJones::of(squared).second / squared;
    for (std::size_t side = 0; side < 3; ++side) force[side] += strength * apart[side];
  }

  // The energy does not reveal a missing message or kernel, so all steps are repeated: the result must be bitwise equal
  // on every rank.
  void check_again(const Thermodynamics& end, std::uint64_t fingerprint) {
    md_.begin();
    md_.run(steps_);
    const Thermodynamics again = md_.thermodynamics();
    const bool same = off(again.total, end.total) <= rounding && off(again.pressure, end.pressure) <= rounding;
    check(same && md_.fingerprint() == fingerprint, "a repetition of all steps does not reproduce the final state");
  }

  static constexpr double rounding = 1e-9, force_rounding = 1e-9, most_drift = 0.01;

  Trial& t_;
  int steps_;
  Shape shape_;
  bool computed_ = host::carries_payload();
  npb::Phases phases_{MolecularDynamics::phase_names()};
  MolecularDynamics md_;
  double worst_ = 0;
  bool good_ = true;
};

}  // namespace

static void lj(Trial& t) {
  Program program(t);
  t.study(std::ref(program));
}

BENCHMARK(lj,
          .summary = "Lennard-Jones liquid: molecular dynamics with short-range forces; halo exchange along three sides",
          .source = "LAMMPS, bench/in.lj; S. Plimpton, Fast parallel algorithms for short-range molecular dynamics, 1995",
          .aka = {"in.lj"},
          .sampling = Sampling::study,
          .ranks = at_least(1),
          .sized = false,
          .buffers = false,
          .reports = {{"rate", "1/s", "higher", "atoms times steps per second, over all ranks"},
                      {"rank_rate", "1/s", "higher", "atoms times steps per second, per rank"},
                      {"time", "s", "lower", "time of all steps, on the slowest rank"},
                      {"step_time", "s", "lower", "time of one step"},
                      {"pair_time", "s", "lower", "time of pair forces, mean over ranks"},
                      {"neighbour_time", "s", "lower", "time of sorting atoms and building neighbour lists, mean over ranks"},
                      {"communication_time", "s", "lower", "time of messages: ghosts and migrating atoms, mean over ranks"},
                      {"other_time", "s", "lower", "time of updating velocities and positions, mean over ranks"},
                      {"drift", "1", "lower", "relative change of the energy from the first step to the last", true},
                      {"memory", "B", "lower", "memory per atom, including ghosts and neighbour lists"}},
          .nominal_s = 2,
          .axes = {{"nx", "20", "cells", "crystal cells along x, four atoms each", cells_of_side},
                   {"ny", "20", "cells", "along y", cells_of_side},
                   {"nz", "20", "cells", "along z", cells_of_side},
                   {"scaling", "weak", "", "weak: nx x ny x nz cells per rank; strong: nx x ny x nz cells in total", {"weak", "strong"}},
                   {"steps", "100", "steps", "of 0.005 tau", Bounds{1, 1'000'000}}},
          .section = "applications",
          .place = 3,
          .problem = ProblemSize{.counts = "atoms", .words = "{,} atoms"},
          .phases = MolecularDynamics::phase_names());
