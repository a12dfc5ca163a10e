// Neighbour list: atoms are sorted into cells, and each pair with at least one own atom is listed once (W. Mattson and
// B. M. Rice, "Near-neighbor calculations using a modified cell-linked list method", Comput. Phys. Commun. 119, 1999).
// A rank has only ghosts with which it owns pairs, so every pair with a ghost is considered once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "bench/app/atoms.hpp"
#include "bench/app/subdomains.hpp"
#include "kernels/target_clones.hpp"

namespace kiviat::app {

// Candidate neighbours, with coordinates arranged for SIMD.
struct Candidates {
  std::vector<double> x, y, z, squared;
  std::vector<std::int32_t> who;
  std::int64_t count = 0;

  void make_room(std::int64_t more) {
    if (count + more <= static_cast<std::int64_t>(who.size())) return;
    for (std::vector<double>* const one : {&x, &y, &z, &squared}) one->resize(2 * (count + more));
    who.resize(2 * (count + more));
  }
  std::size_t bytes() const { return 4 * squared.capacity() * sizeof(double) + who.capacity() * sizeof(std::int32_t); }
  void add(const Four& at, std::int32_t atom) {
    x[count] = at.x, y[count] = at.y, z[count] = at.z, who[count] = atom;
    ++count;
  }
};

// Writes those of the candidates, from index `begin` on, that are within reach; returns their number.
KIVIAT_EVERY_WIDTH
static std::int64_t append_near(Candidates& all, std::int64_t begin, const Four& to, double reach_squared,
                                std::int32_t* list) {
  const double *const x = all.x.data(), *const y = all.y.data(), *const z = all.z.data();
  const std::int32_t* const who = all.who.data();
  double* const squared = all.squared.data();
  const double to_x = to.x, to_y = to.y, to_z = to.z;
  const std::int64_t end = all.count;
#pragma omp simd
  for (std::int64_t k = begin; k < end; ++k) {
    const double dx = to_x - x[k], dy = to_y - y[k], dz = to_z - z[k];
    squared[k] = dx * dx + dy * dy + dz * dz;
  }
  std::int64_t found = 0;
  for (std::int64_t k = begin; k < end; ++k) {  // a branch would be predicted correctly in only two of three cases
    list[found] = who[k];
    found += squared[k] <= reach_squared ? 1 : 0;
  }
  return found;
}

class HalfList {
 public:
  static constexpr int width = 4;  // lengths of lists are padded to a multiple of this with Atoms::nobody()

  // `reach`: largest distance of neighbours.
  HalfList(const Subdomain& domain, double reach) : reach_(reach) {
    for (std::size_t side = 0; side < 3; ++side) {
      const double extent = domain.thickness(side) + 2 * reach;
      low_[side] = domain.low[side] - reach;
      size_[side] = std::max(static_cast<int>(extent / (reach / cells_in_reach)), 1);
      of_length_[side] = size_[side] / extent;
      cells_ *= size_[side];
    }
  }

  std::int64_t atoms() const { return atoms_; }
  std::int64_t begin(std::int64_t atom) const { return begins_[atom]; }
  const std::int32_t* neighbours() const { return neighbours_.data(); }
  // Number of pairs without padding.
  std::int64_t pairs() const { return pairs_; }
  std::size_t bytes() const {
    std::size_t numbers = 0;
    for (const std::vector<std::int32_t>* const one : {&own_, &ghosts_, &next_, &cell_of_, &ghost_at_})
      numbers += one->capacity();
    return begins_.bytes() + neighbours_.bytes() + numbers * sizeof(std::int32_t) + candidates_.bytes();
  }

  // Sorts own atoms by cells; does not keep their forces.
  void sort(Atoms& atoms) {
    const std::int64_t count = atoms.own;
    sorted_ = count_cells(atoms, 0, count, own_);
    if (!sorted_) return;
    Four* const sorted = atoms.force.data();
    for (std::int64_t i = 0; i < count; ++i) sorted[next_[cell_of_[i]]++] = atoms.position[i];
    std::swap(atoms.position, atoms.force);
    next_.assign(own_.begin(), own_.end() - 1);
    Four* const scratch = atoms.force.data();
    for (std::int64_t i = 0; i < count; ++i) scratch[next_[cell_of_[i]]++] = atoms.velocity[i];
    std::swap(atoms.velocity, atoms.force);
  }

  // Builds the list of own atoms, which must be sorted, and ghosts. The list is empty if atoms are denser than in any
  // liquid, so that corrupted data does not take excessive time.
  void build(const Atoms& atoms) {
    const std::int64_t own = atoms.own, all = atoms.all;
    atoms_ = 0, pairs_ = 0;
    if (!count_cells(atoms, own, all, ghosts_) || !sorted_) return;
    ghost_at_.resize(all - own);
    for (std::int64_t i = own; i < all; ++i) ghost_at_[next_[cell_of_[i - own]]++] = static_cast<std::int32_t>(i);
    begins_.make_room(own + 1);
    neighbours_.make_room(own * expected);
    std::int64_t end = 0;
    begins_[0] = 0;
    for (int z = 0; z < size_[2]; ++z)
      for (int y = 0; y < size_[1]; ++y)
        for (int x = 0; x < size_[0]; ++x) {
          const std::int64_t cell = number({x, y, z});
          const std::int32_t first = own_[cell], last = own_[cell + 1];
          if (first == last) continue;
          gather(atoms, {x, y, z});
          for (std::int32_t i = first; i < last; ++i) {
            neighbours_.make_room(end + candidates_.count + width);
            const std::int64_t begin = i - first + 1;  // within its own cell an atom is paired with later atoms only
            const std::int64_t found =
                append_near(candidates_, begin, atoms.position[i], reach_ * reach_, neighbours_.data() + end);
            pairs_ += found, end += found;
            while (end % width != 0) neighbours_[end++] = atoms.nobody();
            begins_[i + 1] = end;
          }
        }
    atoms_ = atoms.own;
  }

 private:
  static constexpr int cells_in_reach = 2;
  static constexpr int expected = 44;  // expected length of an atom's list at this density: 39 and padding
  static constexpr std::int32_t most_in_cell = 200;
  using Cell = std::array<int, 3>;

  std::int64_t number(const Cell& cell) const {
    return cell[0] + size_[0] * (cell[1] + std::int64_t{size_[1]} * cell[2]);
  }
  std::int64_t cell_at(const Four& point) const {
    Cell cell;
    for (std::size_t side = 0; side < 3; ++side) {
      const double at = (point[side] - low_[side]) * of_length_[side];
      cell[side] = at > 0 ? static_cast<int>(std::min(at, size_[side] - 1.0)) : 0;  // NaN goes to the first cell
    }
    return number(cell);
  }

  // Assigns atoms begin .. end - 1 to cells: sets `firsts` (first atom of each cell) and next_. Returns false if a cell
  // has too many atoms.
  bool count_cells(const Atoms& atoms, std::int64_t begin, std::int64_t end, std::vector<std::int32_t>& firsts) {
    cell_of_.resize(end - begin);
    firsts.assign(cells_ + 1, 0);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t cell = cell_at(atoms.position[i]);
      cell_of_[i - begin] = static_cast<std::int32_t>(cell);
      ++firsts[cell + 1];
    }
    bool good = true;
    for (std::size_t cell = 1; cell < firsts.size(); ++cell) {
      good = good && firsts[cell] <= most_in_cell;
      firsts[cell] += firsts[cell - 1];
    }
    next_.assign(firsts.begin(), firsts.end() - 1);
    return good;
  }

  // Gathers candidates for the atoms of a cell: own atoms from this cell on, and all near ghosts.
  void gather(const Atoms& atoms, const Cell& cell) {
    candidates_.count = 0;
    each_row(cell, true, [&](std::int64_t first, std::int64_t last) {
      candidates_.make_room(own_[last + 1] - own_[first]);
      for (std::int32_t i = own_[first]; i < own_[last + 1]; ++i) candidates_.add(atoms.position[i], i);
    });
    each_row(cell, false, [&](std::int64_t first, std::int64_t last) {
      candidates_.make_room(ghosts_[last + 1] - ghosts_[first]);
      for (std::int32_t k = ghosts_[first]; k < ghosts_[last + 1]; ++k) {
        const std::int32_t i = ghost_at_[k];
        candidates_.add(atoms.position[i], i);
      }
    });
  }
  // Calls use(first, last) for rows of cells around a cell; with `half`, only for the cell and those after it.
  template <class Use>
  void each_row(const Cell& cell, bool half, Use use) const {
    constexpr int away = cells_in_reach;
    const auto& [x, y, z] = cell;
    for (int dz = half ? 0 : -away; dz <= away; ++dz)
      for (int dy = half && dz == 0 ? 0 : -away; dy <= away; ++dy) {
        if (y + dy < 0 || y + dy >= size_[1] || z + dz < 0 || z + dz >= size_[2]) continue;
        const bool begins_here = half && dz == 0 && dy == 0;
        const int first = begins_here ? x : std::max(x - away, 0), last = std::min(x + away, size_[0] - 1);
        use(number({first, y + dy, z + dz}), number({last, y + dy, z + dz}));
      }
  }

  double reach_;
  bool sorted_ = false;
  Vector low_, of_length_;
  Cell size_;
  std::int64_t cells_ = 1;
  std::vector<std::int32_t> own_, ghosts_, next_;  // first atom of each cell, and next atom in the same cell
  std::vector<std::int32_t> cell_of_, ghost_at_;
  Candidates candidates_;
  Grown<std::int64_t> begins_;
  Grown<std::int32_t> neighbours_;
  std::int64_t atoms_ = 0, pairs_ = 0;
};

}  // namespace kiviat::app
