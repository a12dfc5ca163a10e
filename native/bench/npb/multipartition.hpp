// Multipartition of a cube into p x p x p cells for p x p ranks: in every layer of cells, along any axis, each rank has
// exactly one cell. So a sweep along an axis keeps all ranks busy, and successive cells of a rank always have the same
// neighbouring rank. J. Bruno, P. Cappello, "Implementing the Beam and Warming method on the hypercube", 1988; R. Van
// der Wijngaart, "Efficient implementation of a 3-dimensional ADI method on the iPSC/860", Supercomputing 1993.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace kiviat::npb {

class Multipartition {
 public:
  struct Cell {
    std::array<int, 3> at;      // coordinates among the p cells along each axis
    std::array<int, 3> first;   // coordinates of its first point
    std::array<int, 3> points;  // may differ by one along each axis
  };

  // `ranks` must be a square; its root must not exceed n.
  Multipartition(int ranks, int rank, int n) : rank_(rank) {
    while (sections_ * sections_ < ranks) ++sections_;
    for (int z = 0; z < sections_; ++z) {
      Cell& cell = cells_.emplace_back();
      cell.at = {(column() + z) % sections_, (row() - z + sections_) % sections_, z};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        cell.first[axis] = begin_of(cell.at[axis], n);
        cell.points[axis] = begin_of(cell.at[axis] + 1, n) - cell.first[axis];
      }
    }
  }

  int sections() const { return sections_; }
  const std::vector<Cell>& cells() const { return cells_; }  // in ascending order along z

  // The cell of this rank at `place` along an axis.
  std::size_t cell_at(std::size_t axis, int place) const {
    const int z = axis == 0 ? place - column() : axis == 1 ? row() - place : place;
    return static_cast<std::size_t>((z + sections_) % sections_);
  }

  // The rank that has the next (step 1) or preceding (step -1) cells along an axis; the same for all cells.
  int neighbour(std::size_t axis, int step) const {
    const int right = axis == 0 ? step : axis == 2 ? -step : 0, up = axis == 0 ? 0 : step;
    return (column() + right + sections_) % sections_ + (row() + up + sections_) % sections_ * sections_;
  }

 private:
  int column() const { return rank_ % sections_; }
  int row() const { return rank_ / sections_; }
  int begin_of(int place, int n) const { return static_cast<int>(static_cast<long>(place) * n / sections_); }

  int rank_, sections_ = 1;
  std::vector<Cell> cells_;
};

}  // namespace kiviat::npb
