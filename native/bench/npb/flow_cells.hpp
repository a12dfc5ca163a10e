// The cells of one rank in SP and BT: state with a halo of two points, right-hand side and forcing.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bench/memory.hpp"
#include "bench/npb/flow.hpp"
#include "bench/npb/multipartition.hpp"

namespace kiviat::npb {

// One array for each component.
using Fields = std::array<double*, flow::components>;

struct FlowCell {
  Multipartition::Cell part;
  std::array<int, 3> begin, end;        // computed points; points on the cube's faces are given
  std::array<std::int64_t, 3> strides;  // along x, y, z
  Fields u, rhs, forcing;               // address of the cell's first point

  std::int64_t at(std::int64_t i, std::int64_t j, std::int64_t k) const { return i + j * strides[1] + k * strides[2]; }
  int inner(std::size_t axis) const { return std::max(end[axis] - begin[axis], 0); }
};

class FlowCells {
 public:
  static constexpr int halo = 2;

  // Collective. Throws Skip if memory does not suffice.
  FlowCells(const Trial& t, const Multipartition& parts, int n) : n_(n), step_(1.0 / (n - 1)) {
    std::int64_t doubles = 0;
    for (const Multipartition::Cell& part : parts.cells()) doubles += arrays * shaped(part).volume;
    const std::size_t bytes = sizeof(double) * static_cast<std::size_t>(doubles);
    refuse_more_than_available(t, "class=" + t.text("class"), static_cast<double>(bytes));
    pages_ = pages_of(t, bytes);
    double* next = pages_.as<double>();
    for (const Multipartition::Cell& part : parts.cells()) {
      Shape shape = shaped(part);
      for (Fields* fields : {&shape.cell.u, &shape.cell.rhs, &shape.cell.forcing})
        for (double*& field : *fields) field = next + shape.origin, next += shape.volume;
      cells_.push_back(shape.cell);
    }
  }

  int n() const { return n_; }
  std::vector<FlowCell>::const_iterator begin() const { return cells_.begin(); }
  std::vector<FlowCell>::const_iterator end() const { return cells_.end(); }
  const FlowCell& operator[](std::size_t i) const { return cells_[i]; }

  // Sets the initial state: the exact solution on the faces of the cube, interpolated values inside.
  void start() const {
    for (const FlowCell& cell : cells_)
      set(cell, 0,
          [&](std::array<int, 3> p, bool inside) { return inside ? at(p, flow::initial) : at(p, flow::exact); });
  }
  // Sets the exact solution everywhere, including the halo.
  void solve() const {
    for (const FlowCell& cell : cells_) set(cell, halo, [&](std::array<int, 3> p, bool) { return at(p, flow::exact); });
  }

  // Sums of squares of each component over the computed points.
  flow::State squares_of_rhs() const {
    return squares(
        [](const FlowCell& cell, std::size_t m, std::int64_t place, const flow::State&) { return cell.rhs[m][place]; });
  }
  flow::State squares_of_error() const {
    return squares([](const FlowCell& cell, std::size_t m, std::int64_t place, const flow::State& exact) {
      return cell.u[m][place] - exact[m];
    });
  }
  double inner_points() const {
    double all = 0;
    for (const FlowCell& cell : cells_) all += static_cast<double>(cell.inner(0)) * cell.inner(1) * cell.inner(2);
    return all;
  }

 private:
  static constexpr std::int64_t arrays = 3 * flow::components, line = 8;  // doubles of a cache line

  struct Shape {
    FlowCell cell;
    std::int64_t volume, origin;
  };
  // Computed points of a row start at a cache line; the halo before them lies at the end of the previous row.
  Shape shaped(const Multipartition::Cell& part) const {
    Shape shape{};
    FlowCell& cell = shape.cell;
    cell.part = part;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      cell.begin[axis] = part.first[axis] == 0 ? 1 : 0;
      cell.end[axis] = part.points[axis] - (part.first[axis] + part.points[axis] == n_ ? 1 : 0);
    }
    const std::int64_t row = (part.points[0] + 2 * halo + line - 1) / line * line,
                       plane = row * (part.points[1] + 2 * halo);
    cell.strides = {1, row, plane};
    shape.volume = plane * (part.points[2] + 2 * halo) + 2 * line;
    shape.origin = halo * (plane + row) + line - cell.begin[0];
    return shape;
  }

  flow::State at(std::array<int, 3> point, flow::State (*function)(double, double, double)) const {
    return function(point[0] * step_, point[1] * step_, point[2] * step_);
  }

  template <class Value>
  void set(const FlowCell& cell, int around, const Value& value) const {
    const auto from = [&](std::size_t axis) { return std::max(-around, -cell.part.first[axis]); };
    const auto to = [&](std::size_t axis) {
      return std::min(cell.part.points[axis] + around, n_ - cell.part.first[axis]);
    };
    for (int k = from(2); k < to(2); ++k)
      for (int j = from(1); j < to(1); ++j)
        for (int i = from(0); i < to(0); ++i) {
          const std::array<int, 3> point = {i + cell.part.first[0], j + cell.part.first[1], k + cell.part.first[2]};
          const bool inside = std::ranges::all_of(point, [&](int p) { return p > 0 && p < n_ - 1; });
          const flow::State state = value(point, inside);
          for (std::size_t m = 0; m < flow::components; ++m) cell.u[m][cell.at(i, j, k)] = state[m];
        }
  }

  template <class Value>
  flow::State squares(const Value& value) const {
    flow::State sums{};
    for (const FlowCell& cell : cells_)
      for (int k = cell.begin[2]; k < cell.end[2]; ++k)
        for (int j = cell.begin[1]; j < cell.end[1]; ++j)
          for (int i = cell.begin[0]; i < cell.end[0]; ++i) {
            const flow::State exact =
                at({i + cell.part.first[0], j + cell.part.first[1], k + cell.part.first[2]}, flow::exact);
            for (std::size_t m = 0; m < flow::components; ++m) {
              const double one = value(cell, m, cell.at(i, j, k), exact);
              sums[m] += one * one;
            }
          }
    return sums;
  }

  int n_;
  double step_;
  HugePages pages_;
  std::vector<FlowCell> cells_;
};

}  // namespace kiviat::npb
