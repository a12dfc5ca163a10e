// The Lennard-Jones liquid: neighbour lists and forces compared with the definitions, and distribution over ranks.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "bench/app/md.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::app;

namespace {

// Vector from one point to another one's nearest periodic image.
Vector apart(const Vector& box, const Vector& from, const Vector& to) {
  Vector way;
  for (std::size_t side = 0; side < 3; ++side) {
    const double away = to[side] - from[side];
    way[side] = away - box[side] * std::round(away / box[side]);
  }
  return way;
}
double squared(const Vector& way) { return way[0] * way[0] + way[1] * way[1] + way[2] * way[2]; }
Vector vector(const Four& four) { return {four.x, four.y, four.z}; }

// Positions of all atoms of all ranks.
std::vector<Vector> all_positions(MPI_Comm comm, const Atoms& atoms) {
  int ranks, mine = static_cast<int>(3 * atoms.own);
  MPI_Comm_size(comm, &ranks);
  std::vector<int> counts(ranks), at(ranks);
  MPI_Allgather(&mine, 1, MPI_INT, counts.data(), 1, MPI_INT, comm);
  for (int rank = 1; rank < ranks; ++rank) at[rank] = at[rank - 1] + counts[rank - 1];
  std::vector<Vector> own, all((at.back() + counts.back()) / 3);
  for (std::int64_t i = 0; i < atoms.own; ++i) own.push_back(vector(atoms.position[i]));
  MPI_Allgatherv(own.data(), mine, MPI_DOUBLE, all.data(), counts.data(), at.data(), MPI_DOUBLE, comm);
  return all;
}

std::size_t nearest(const Vector& box, const std::vector<Vector>& atoms, const Vector& point) {
  const auto distance = [&](const Vector& atom) { return squared(apart(box, atom, point)); };
  return std::ranges::min_element(atoms, {}, distance) - atoms.begin();
}

using Pair = std::pair<std::size_t, std::size_t>;

// Pairs in the lists of all ranks, by index in `all`, with multiplicity.
std::multiset<Pair> listed(MPI_Comm comm, const MolecularDynamics& md, const std::vector<Vector>& all) {
  const HalfList& list = md.list();
  const Atoms& atoms = md.atoms();
  std::vector<std::size_t> number(atoms.all);
  for (std::int64_t i = 0; i < atoms.all; ++i) number[i] = nearest(md.domain().box, all, vector(atoms.position[i]));
  std::vector<std::int64_t> mine, everything;
  for (std::int64_t i = 0; i < list.atoms(); ++i)
    for (std::int64_t at = list.begin(i); at < list.begin(i + 1); ++at) {
      const std::int32_t j = list.neighbours()[at];
      if (j == atoms.nobody()) continue;
      const auto [one, other] = std::minmax(number[i], number[j]);
      mine.push_back(one), mine.push_back(other);
    }
  int ranks, count = static_cast<int>(mine.size());
  MPI_Comm_size(comm, &ranks);
  std::vector<int> counts(ranks), at(ranks);
  MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm);
  for (int rank = 1; rank < ranks; ++rank) at[rank] = at[rank - 1] + counts[rank - 1];
  everything.resize(at.back() + counts.back());
  MPI_Allgatherv(mine.data(), count, MPI_INT64_T, everything.data(), counts.data(), at.data(), MPI_INT64_T, comm);
  std::multiset<Pair> pairs;
  for (std::size_t i = 0; i < everything.size(); i += 2) pairs.emplace(everything[i], everything[i + 1]);
  return pairs;
}

std::multiset<Pair> brute_force(const Vector& box, const std::vector<Vector>& all, double reach) {
  std::multiset<Pair> pairs;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size(); ++j)
      if (squared(apart(box, all[i], all[j])) <= reach * reach) pairs.emplace(i, j);
  return pairs;
}

double energy_of(const Vector& box, const std::vector<Vector>& all, std::size_t atom, const Vector& at) {
  double energy = 0;
  for (std::size_t j = 0; j < all.size(); ++j) {
    const double distance = squared(apart(box, at, all[j]));
    if (j != atom && distance < LennardJones::cutoff * LennardJones::cutoff) energy += LennardJones::of(distance).first;
  }
  return energy;
}

}  // namespace

// Seven ranks along the longest side: a subdomain is one cell thick, which is less than cutoff plus skin, so ghosts
// come from two ranks away.
RANKED_TEST(pairs_of_a_liquid_are_those_of_brute_force_once, 7) {
  const Crystal along_z{{4, 5, 7}}, along_x{{7, 4, 5}}, along_y{{4, 7, 5}};
  const std::vector<std::pair<int, Crystal>> shapes = {{1, along_z}, {2, along_z}, {3, along_z}, {4, along_z},
                                                       {7, along_z}, {2, along_x}, {4, along_x}, {7, along_x},
                                                       {2, along_y}, {4, along_y}, {7, along_y}};
  for (const auto& [ranks, crystal] : shapes) {
    MPI_Comm comm;
    MPI_Comm_split(world.comm, world.rank < ranks ? 0 : MPI_UNDEFINED, 0, &comm);
    if (comm == MPI_COMM_NULL) continue;
    const auto grid = ProcessGrid::of(ranks, crystal.cells, false);
    const std::size_t longest = std::ranges::max_element(crystal.cells) - crystal.cells.begin();
    EXPECT((ranks == 4 || grid->ranks[longest] == ranks));
    npb::Phases phases(MolecularDynamics::phase_names());
    MolecularDynamics md(comm, crystal, Subdomain(crystal, *grid, world.rank), phases);
    for (const int steps : {0, 60}) {
      if (steps == 0)
        md.begin();
      else
        md.run(steps);
      const std::vector<Vector> all = all_positions(comm, md.atoms());
      EXPECT(static_cast<std::int64_t>(all.size()) == crystal.atoms());
      EXPECT((listed(comm, md, all) == brute_force(md.domain().box, all, MolecularDynamics::reach)));
    }
    MPI_Comm_free(&comm);
  }
}

RANKED_TEST(forces_are_the_slope_of_the_energy, 1, 2, 4) {
  const Crystal crystal{{4, 4, 5}};
  npb::Phases phases(MolecularDynamics::phase_names());
  MolecularDynamics md(world.comm, crystal,
                       Subdomain(crystal, *ProcessGrid::of(world.size, crystal.cells, false), world.rank), phases);
  md.begin();
  md.run(40);
  const std::vector<Vector> all = all_positions(world.comm, md.atoms());
  constexpr double step = 1e-5;
  double worst = 0, largest = 0;
  for (std::int64_t i = 0; i < md.atoms().own; i += 7)
    for (std::size_t side = 0; side < 3; ++side) {
      const Vector at = vector(md.atoms().position[i]);
      Vector before = at, behind = at;
      before[side] -= step, behind[side] += step;
      const std::size_t number = nearest(md.domain().box, all, at);
      const auto energy = [&](const Vector& point) { return energy_of(md.domain().box, all, number, point); };
      const double force = md.atoms().force[i][side],
                   jump = 0.02;  // energy of a pair at the cutoff: -0.016
      const double off = std::abs((energy(before) - energy(behind)) / (2 * step) - force);
      if (off < jump / (4 * step)) worst = std::max(worst, off / (1 + std::abs(force)));
      largest = std::max(largest, std::abs(force));
    }
  EXPECT(worst < 1e-6);
  EXPECT(largest > 10);
}

// 12, 6, 24, 12 and 24 neighbours within the cutoff, as known of the face-centred cubic lattice.
RANKED_TEST(a_crystal_begins_with_the_sums_over_its_lattice, 1, 2, 4) {
  const Crystal crystal{{4, 5, 4}};
  npb::Phases phases(MolecularDynamics::phase_names());
  MolecularDynamics md(world.comm, crystal,
                       Subdomain(crystal, *ProcessGrid::of(world.size, crystal.cells, false), world.rank), phases);
  md.begin();
  const Thermodynamics found = md.thermodynamics(), expected = Thermodynamics::at_start(crystal);
  double energy = 0;
  const double shells[][2] = {
      {12, 0.5}, {6, 1}, {24, 1.5}, {12, 2}};  // the next shell, at 2.5 squared edges, is beyond the cutoff
  for (const auto& [count, square] : shells) {
    const double distance = square * Crystal::edge_of_cell() * Crystal::edge_of_cell();
    if (distance < LennardJones::cutoff * LennardJones::cutoff) energy += count / 2 * LennardJones::of(distance).first;
  }
  EXPECT(std::abs(expected.potential / energy - 1) < 1e-12);
  EXPECT(std::abs(found.potential / expected.potential - 1) < 1e-12);
  EXPECT(std::abs(found.pressure / expected.pressure - 1) < 1e-12);
  EXPECT(std::abs(found.temperature - 1.44) < 1e-12);
}

RANKED_TEST(boxes_are_divided_with_the_least_surface, 1) {
  const auto grid = [](int ranks, const std::array<std::int64_t, 3>& cells, bool weak) {
    const auto found = ProcessGrid::of(ranks, cells, weak);
    return found ? found->ranks : Sides{};
  };
  EXPECT((grid(1, {20, 20, 20}, false) == Sides{1, 1, 1}));
  EXPECT((grid(2, {20, 20, 20}, false) == Sides{1, 1, 2}));
  EXPECT((grid(4, {20, 20, 20}, false) == Sides{1, 2, 2}));
  EXPECT((grid(7, {20, 20, 20}, false) == Sides{1, 1, 7}));
  EXPECT((grid(7, {40, 20, 20}, false) == Sides{7, 1, 1}));
  EXPECT((grid(12, {20, 20, 20}, true) == Sides{2, 2, 3}));
  EXPECT((grid(72, {128, 128, 64}, false) == Sides{4, 6, 3}));
  EXPECT((grid(11, {4, 4, 4}, false) == Sides{}));
}

RANKED_TEST(ranks_together_have_each_atom_once, 1) {
  const Crystal crystal{{4, 5, 6}};
  for (const int ranks : {1, 2, 3, 4, 5, 6, 12}) {
    std::set<Vector> atoms;
    std::int64_t count = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const Subdomain part(crystal, *ProcessGrid::of(ranks, crystal.cells, false), rank);
      crystal.each_atom_within(part.low, part.high, [&](const Vector& point) { atoms.insert(point), ++count; });
    }
    EXPECT(count == crystal.atoms());
    EXPECT(static_cast<std::int64_t>(atoms.size()) == count);
  }
}

RANKED_TEST(the_last_subdomain_ends_where_the_box_does, 1) {
  const Crystal crystal{{8, 15, 16}};
  for (const int ranks : {7, 11, 13})
    for (std::size_t side = 0; side < 3; ++side) {
      ProcessGrid grid{{1, 1, 1}};
      grid.ranks[side] = ranks;
      double ends = 0;
      for (int rank = 0; rank < ranks; ++rank) ends = std::max(ends, Subdomain(crystal, grid, rank).high[side]);
      EXPECT(ends == Subdomain(crystal, grid, 0).box[side]);
    }
}

RANKED_TEST(what_leaves_the_box_comes_in_at_the_other_end, 1) {
  const Crystal crystal{{4, 4, 4}};
  const Subdomain all(crystal, {{1, 1, 1}}, 0);
  EXPECT(all.wrapped(0, 1) == 1);
  EXPECT(all.wrapped(0, all.box[0]) == 0);
  EXPECT(all.wrapped(0, -1) == all.box[0] - 1);
  EXPECT(all.wrapped(0, -1e-20) == 0);
}
