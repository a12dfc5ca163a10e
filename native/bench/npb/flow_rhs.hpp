// The right-hand side of SP and BT: dt times what the equations make of the state, by central differences, less what they
// make of the solution (the forcing). D. Bailey et al., RNR-94-007, 1994, section 3.5.
#pragma once

#include "bench/npb/flow_cells.hpp"
#include "core/multiversioned.hpp"
#include "core/work.hpp"

namespace kiviat::npb {

// Weights of the five points of a second difference times the diffusion and of the fourth-order dissipation; the latter is
// one-sided at the two points next to a face of the cube (section 3.5.2).
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

// What is needed of a point beside its state: velocities, pressure, and what conducts heat in all directions.
struct Derived {
  static constexpr std::size_t fields = 5, pressure = 3, heat = 4;
  std::array<double*, fields> at;
};

// Of one row of points: where its state, what is derived from it, and the results are.
struct Row {
  Fields u;
  Derived below, here, above;  // along z; `here` has the rows before and after too
  std::int64_t u_row, u_plane, derived_row;
  Fields forcing, rhs;
  std::array<const double*, 5> weights_x;
  Weights weights_y, weights_z;
  double dt, first, viscous;  // 1 / (2 h), k3 k4 / h^2
  int points;
};

KIVIAT_COMPILED_FOR("arch=x86-64-v3", "default")
static void derive_row(const Fields& u, const Derived& derived, int points) {
#pragma omp simd
  for (int i = 0; i < points; ++i) {
    const double inverse = 1 / u[0][i], energy = u[4][i];
    const double x = inverse * u[1][i], y = inverse * u[2][i], z = inverse * u[3][i];
    const double kinetic = 0.5 * (x * x + y * y + z * z);  // per mass, as `heat` is
    derived.at[0][i] = x, derived.at[1][i] = y, derived.at[2][i] = z;
    derived.at[Derived::pressure][i] = flow::k2 * (energy - u[0][i] * kinetic);
    derived.at[Derived::heat][i] = (1 - flow::k1 * flow::k5) * kinetic + flow::k1 * flow::k5 * inverse * energy;
  }
}

// Fluxes along one axis: `step` and `derived_*` lead to the neighbours.
template <std::size_t axis, bool from_forcing, bool last, class Weight>
[[gnu::always_inline]] inline void add_axis(const Row& row, std::int64_t step, const Derived& before, const Derived& after, std::int64_t derived_step,
                                            const Weight& weight) {
  const double first = row.first, viscous = row.viscous, dt = row.dt;
  const std::array<const double*, 5> u = {row.u[0], row.u[1], row.u[2], row.u[3], row.u[4]};
  const std::array<double*, 5> rhs = row.rhs;
  const std::array<const double*, 5> origin = {from_forcing ? row.forcing[0] : rhs[0], from_forcing ? row.forcing[1] : rhs[1],
                                               from_forcing ? row.forcing[2] : rhs[2], from_forcing ? row.forcing[3] : rhs[3],
                                               from_forcing ? row.forcing[4] : rhs[4]};
  const auto minus = [&](std::size_t field, int i) { return before.at[field][i - derived_step]; };
  const auto plus = [&](std::size_t field, int i) { return after.at[field][i + derived_step]; };
  const auto centre = [&](std::size_t field, int i) { return row.here.at[field][i]; };
#pragma omp simd
  for (int i = 0; i < row.points; ++i) {
    const double speed_before = minus(axis, i), speed_after = plus(axis, i), speed = centre(axis, i);
    const double pressure_before = minus(Derived::pressure, i), pressure_after = plus(Derived::pressure, i);
    const double w0 = weight(0, i), w1 = weight(1, i), w2 = weight(2, i), w3 = weight(3, i), w4 = weight(4, i);
    const auto smoothed = [&](std::size_t m) {
      return w0 * u[m][i - 2 * step] + w1 * u[m][i - step] + w2 * u[m][i] + w3 * u[m][i + step] + w4 * u[m][i + 2 * step];
    };
    const auto put = [&](std::size_t m, double change) {
      const double sum = origin[m][i] + change;
      rhs[m][i] = last ? dt * sum : sum;
    };
    const auto bend = [&](std::size_t field) { return minus(field, i) - 2 * centre(field, i) + plus(field, i); };

    put(0, smoothed(0) - first * (u[axis + 1][i + step] - u[axis + 1][i - step]));
    for (std::size_t m = 1; m < 4; ++m) {
      double flux = u[m][i + step] * speed_after - u[m][i - step] * speed_before, friction = viscous * bend(m - 1);
      if (m == axis + 1) flux += pressure_after - pressure_before, friction *= 4.0 / 3;
      put(m, smoothed(m) + friction - first * flux);
    }
    const double squares = speed_before * speed_before - 2 * speed * speed + speed_after * speed_after;
    const double carried = (u[4][i + step] + pressure_after) * speed_after - (u[4][i - step] + pressure_before) * speed_before;
    put(4, smoothed(4) + viscous * (bend(Derived::heat) + squares * (1.0 / 6)) - first * carried);
  }
}

KIVIAT_COMPILED_FOR("arch=x86-64-v3", "default")
static void rhs_row(const Row& row) {
  add_axis<0, true, false>(row, 1, row.here, row.here, 1, [&](std::size_t w, int i) { return row.weights_x[w][i]; });
  add_axis<1, false, false>(row, row.u_row, row.here, row.here, row.derived_row, [&](std::size_t w, int) { return row.weights_y[w]; });
  add_axis<2, false, true>(row, row.u_plane, row.below, row.above, 0, [&](std::size_t w, int) { return row.weights_z[w]; });
}

class RightHandSide {
 public:
  // What it costs for each point: 24 operations for what is derived, for each axis 5 times 9 for the smoothing and 42 for the
  // rest; the state is read, the forcing too, and the right-hand side written.
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
    }
  }

  // The forcing that makes what the cells hold a steady state.
  void force() const {
    for (std::size_t c = 0; const FlowCell& cell : cells_) {
      whole(c++, 1);
      for (std::size_t m = 0; m < flow::components; ++m)
        for (int k = cell.begin[2]; k < cell.end[2]; ++k)
          for (int j = cell.begin[1]; j < cell.end[1]; ++j)
            for (int i = cell.begin[0]; i < cell.end[0]; ++i) cell.forcing[m][cell.at(i, j, k)] = -cell.rhs[m][cell.at(i, j, k)];
    }
  }

  void whole(std::size_t c) const { whole(c, dt_); }

  // Planes in their order, beginning with the first: what is derived from the one before is still there.
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

  // Where what is derived from a row begins, at its first calculated point.
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
