// Right-hand side of SP and BT: dt times the discretised equations applied to the state, minus the same for the exact
// solution (the forcing). D. Bailey et al., RNR-94-007, 1994, section 3.5.
#pragma once

#include "bench/npb/flow_cells.hpp"
#include "kernels/simd.hpp"
#include "kernels/target_clones.hpp"
#include "platform/compute.hpp"

namespace kiviat::npb {

// Weights of five points along an axis: second difference times the diffusion coefficient, plus fourth-order
// dissipation, which is one-sided at the two points next to a face of the cube (section 3.5.2).
using Weights = std::array<double, 5>;

inline Weights weights_at(int point, int n, std::size_t axis) {
  const double second = flow::diffusion[axis] * flow::Spacing(n).second();
  const auto with = [&](const Weights& fourth) {
    Weights all = {0, second, -2 * second, second, 0};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] -= flow::dissipation * fourth[i];
    return all;
  };
  if (point == 1) return with({0, 0, 5, -4, 1});
  if (point == 2) return with({0, -4, 6, -4, 1});
  if (point == n - 3) return with({1, -4, 6, -4, 0});
  if (point == n - 2) return with({1, -4, 5, 0, 0});
  return with({1, -4, 6, -4, 1});
}

// Quantities derived from the state of a point: velocities, pressure, and the terms of heat conduction.
struct Derived {
  static constexpr std::size_t fields = 5, pressure = 3, heat = 4;
  std::array<double*, fields> at;
};

// Pointers to the state, derived quantities and results of one row of points. Vector operations may reach beyond its
// end.
struct Row {
  Fields u;
  Derived below, here, above;  // of the rows at z - 1, z, z + 1; `here` also gives access to rows y - 1 and y + 1
  std::int64_t u_row, u_plane, derived_row;
  Fields forcing, rhs;
  std::array<const double*, 5> weights_x;
  Weights weights_y, weights_z;
  double dt, first, viscous;  // 1 / (2 h), k3 k4 / h^2
  int points;
};

KIVIAT_EVERY_WIDTH
static void derive_row(const Fields& u, const Derived& derived, int points) {
  using namespace flow;
  for (int i = 0; i < points; i += Lanes::width) {
    const Lanes density(u[0] + i), energy(u[4] + i), inverse = Lanes(1.0) / density;
    const Lanes x = inverse * Lanes(u[1] + i), y = inverse * Lanes(u[2] + i), z = inverse * Lanes(u[3] + i);
    const Lanes kinetic = Lanes(0.5) * (x * x + y * y + z * z);  // per unit of mass, like `heat`
    x.store(derived.at[0] + i), y.store(derived.at[1] + i), z.store(derived.at[2] + i);
    (Lanes(k2) * (energy - density * kinetic)).store(derived.at[Derived::pressure] + i);
    (Lanes(1 - k1 * k5) * kinetic + Lanes(k1 * k5) * inverse * energy).store(derived.at[Derived::heat] + i);
  }
}

// Adds the terms of one axis to the right-hand side. `step`: distance to the neighbours' state; `before`, `after`:
// derived quantities of the neighbours.
template <std::size_t axis, class Weight>
[[gnu::always_inline]] inline void add_axis(const Row& row, int i, std::int64_t step, const Derived& before,
                                            const Derived& after, const Weight& weight,
                                            Lanes (&sum)[flow::components]) {
  const Lanes first(-row.first), viscous(row.viscous);
  const auto state = [&](std::size_t m, std::int64_t steps)
                         __attribute__((always_inline)) { return Lanes(row.u[m] + i + steps * step); };
  const auto of = [&](const Derived& derived, std::size_t field)
                      __attribute__((always_inline)) { return Lanes(derived.at[field] + i); };
  const Lanes w0 = weight(0), w1 = weight(1), w2 = weight(2), w3 = weight(3), w4 = weight(4);
  const auto smooth = [&](std::size_t m) __attribute__((always_inline)) {
    sum[m] += w0 * state(m, -2) + w1 * state(m, -1) + w2 * state(m, 0) + w3 * state(m, 1) + w4 * state(m, 2);
  };
  const auto bend = [&](std::size_t field) __attribute__((always_inline)) {
    return of(before, field) + of(after, field) - Lanes(2.0) * of(row.here, field);
  };
  const Lanes speed = of(row.here, axis), speed_before = of(before, axis), speed_after = of(after, axis);
  const Lanes pressure_before = of(before, Derived::pressure), pressure_after = of(after, Derived::pressure);

  smooth(0), sum[0] += first * (state(axis + 1, 1) - state(axis + 1, -1));
#pragma GCC unroll 3
  for (std::size_t m = 1; m < 4; ++m) {
    Lanes flux = state(m, 1) * speed_after - state(m, -1) * speed_before;
    if (m == axis + 1) flux += pressure_after - pressure_before;
    smooth(m), sum[m] += first * flux + (m == axis + 1 ? Lanes(4.0 / 3) * viscous : viscous) * bend(m - 1);
  }
  const Lanes squares = speed_before * speed_before - Lanes(2.0) * speed * speed + speed_after * speed_after;
  const Lanes carried = (state(4, 1) + pressure_after) * speed_after - (state(4, -1) + pressure_before) * speed_before;
  smooth(4), sum[4] += first * carried + viscous * (bend(Derived::heat) + Lanes(1.0 / 6) * squares);
}

[[gnu::always_inline]] inline Derived moved(Derived derived, std::int64_t by) {
  for (double*& field : derived.at) field += by;
  return derived;
}

KIVIAT_EVERY_WIDTH
static void rhs_row(const Row& row) {
  const Derived west = moved(row.here, -1), east = moved(row.here, 1);
  const Derived south = moved(row.here, -row.derived_row), north = moved(row.here, row.derived_row);
  for (int i = 0; i < row.points; i += Lanes::width) {
    Lanes sum[flow::components];
#pragma GCC unroll 5
    for (std::size_t m = 0; m < flow::components; ++m) {
      // Prefetches the part of the next row that is not in the cache yet.
      __builtin_prefetch(row.u[m] + i + row.u_row + 2 * row.u_plane),
          __builtin_prefetch(row.forcing[m] + i + row.u_row);
      __builtin_prefetch(row.rhs[m] + i + row.u_row, 1);
      sum[m] = Lanes(row.forcing[m] + i);
    }
    add_axis<0>(
        row, i, 1, west, east,
        [&](std::size_t w) __attribute__((always_inline)) { return Lanes(row.weights_x[w] + i); }, sum);
    add_axis<1>(
        row, i, row.u_row, south, north,
        [&](std::size_t w) __attribute__((always_inline)) { return Lanes(row.weights_y[w]); }, sum);
    add_axis<2>(
        row, i, row.u_plane, row.below, row.above,
        [&](std::size_t w) __attribute__((always_inline)) { return Lanes(row.weights_z[w]); }, sum);
#pragma GCC unroll 5
    for (std::size_t m = 0; m < flow::components; ++m) (Lanes(row.dt) * sum[m]).store(row.rhs[m] + i);
  }
}

class RightHandSide {
 public:
  // Cost of each point: 24 operations for the derived quantities; for each axis 5 times 9 for the smoothing and 42 for
  // the rest. It reads the state and the forcing, and writes the right-hand side.
  static constexpr double flops = 24 + 3 * (45 + 42), bytes = 8 * 4 * flow::components;

  // Collective.
  RightHandSide(const Trial& t, const FlowCells& cells, double dt) : cells_(cells), dt_(dt) {
    std::int64_t most = 0;
    for (const FlowCell& cell : cells) most = std::max(most, cell.strides[2]);
    plane_ = most;
    derived_ = pages_of(t, sizeof(double) * static_cast<std::size_t>(planes * std::int64_t{Derived::fields} * plane_));
    for (const FlowCell& cell : cells) {
      std::array<std::vector<double>, 5>& rows = weights_x_.emplace_back();
      for (int i = 0; i < cell.inner(0); ++i) {
        const Weights weights = weights_at(cell.part.first[0] + cell.begin[0] + i, cells.n(), 0);
        for (std::size_t w = 0; w < weights.size(); ++w) rows[w].push_back(weights[w]);
      }
      for (std::vector<double>& row : rows) row.resize(row.size() + Lanes::width);
    }
  }

  // Computes the forcing that makes the cells' current values a steady state.
  void force() const {
    for (std::size_t c = 0; const FlowCell& cell : cells_) {
      whole(c++, 1);
      for (std::size_t m = 0; m < flow::components; ++m)
        for (int k = cell.begin[2]; k < cell.end[2]; ++k)
          for (int j = cell.begin[1]; j < cell.end[1]; ++j)
            for (int i = cell.begin[0]; i < cell.end[0]; ++i)
              cell.forcing[m][cell.at(i, j, k)] = -cell.rhs[m][cell.at(i, j, k)];
    }
  }

  void whole(std::size_t c) const { whole(c, dt_); }

  // Computes plane k. Planes must be computed in ascending order from the first, because derived quantities of the
  // previous plane are reused.
  void plane(std::size_t c, int k) const { plane(c, k, dt_); }

 private:
  static constexpr int planes = 3;

  void whole(std::size_t c, double dt) const {
    for (int k = cells_[c].begin[2]; k < cells_[c].end[2]; ++k) plane(c, k, dt);
  }

  void plane(std::size_t c, int k, double dt) const {
    const FlowCell& cell = cells_[c];
    if (k == cell.begin[2]) derive(cell, k - 1), derive(cell, k);
    derive(cell, k + 1);
    Row row{};
    row.u_row = cell.strides[1], row.u_plane = cell.strides[2], row.derived_row = cell.strides[1];
    row.dt = dt, row.points = cell.inner(0);
    const flow::Spacing spacing(cells_.n());
    row.first = spacing.first(), row.viscous = flow::k3 * flow::k4 * spacing.second();
    row.weights_z = weights_at(cell.part.first[2] + k, cells_.n(), 2);
    for (std::size_t w = 0; w < 5; ++w) row.weights_x[w] = weights_x_[c][w].data();
    for (int j = cell.begin[1]; j < cell.end[1]; ++j) {
      row.weights_y = weights_at(cell.part.first[1] + j, cells_.n(), 1);
      const std::int64_t at = cell.at(cell.begin[0], j, k);
      for (std::size_t m = 0; m < flow::components; ++m)
        row.u[m] = cell.u[m] + at, row.rhs[m] = cell.rhs[m] + at, row.forcing[m] = cell.forcing[m] + at;
      row.below = derived(cell, j, k - 1), row.here = derived(cell, j, k), row.above = derived(cell, j, k + 1);
      rhs_row(row);
    }
  }

  // Pointers to the derived quantities of a row, at its first computed point.
  Derived derived(const FlowCell& cell, int j, int k) const {
    Derived row;
    double* plane = derived_.as<double>() + (k + 1) % planes * std::int64_t{Derived::fields} * plane_;
    for (std::size_t f = 0; f < Derived::fields; ++f)
      row.at[f] = plane + static_cast<std::int64_t>(f) * plane_ + (j + 1) * cell.strides[1] + 8;
    return row;
  }

  void derive(const FlowCell& cell, int k) const {
    for (int j = cell.begin[1] - 1; j < cell.end[1] + 1; ++j) {
      const std::int64_t at = cell.at(cell.begin[0] - 1, j, k);
      Fields u;
      for (std::size_t m = 0; m < flow::components; ++m) u[m] = cell.u[m] + at;
      Derived row = derived(cell, j, k);
      for (double*& field : row.at) --field;
      derive_row(u, row, cell.inner(0) + 2);
    }
  }

  const FlowCells& cells_;
  double dt_;
  std::int64_t plane_;  // doubles
  HugePages derived_;
  std::vector<std::array<std::vector<double>, 5>> weights_x_;  // of each cell
};

}  // namespace kiviat::npb
