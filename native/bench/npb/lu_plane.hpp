// The work of LU on one plane of a rank's part of the grid: the right-hand side, and the lower and upper sweep through
// it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "bench/npb/diagonals.hpp"
#include "bench/npb/lu_point.hpp"
#include "kernels/target_clones.hpp"

namespace kiviat::npb::ssor {

// --- the right-hand side --------------------------------------------------

// Derived quantities per point: 1 / density, pressure, and the part of the viscous energy flux that is the same along
// all axes.
constexpr std::int64_t of_beside = 3;

// `size` is a multiple of Diagonals::group.
KIVIAT_EVERY_WIDTH
inline void compute_beside(const double* u, double* beside, std::int64_t size) {
  for (std::int64_t at = 0; at < size; at += Diagonals::group) {
    const Five state = five(u + at, size);
    const Point p(state);
    put(beside + at, p.inverse);
    put(beside + at + size, flow::k2 * (state.energy - p.density * p.kinetic));
    put(beside + at + 2 * size, of_kinetic * p.kinetic + of_energy * p.energy);
  }
}

// Linear terms of the equations, diffusion and dissipation, as weights of five points along an axis. Weights differ
// next to the faces of the grid, because dissipation does not reach across them.
class Linear {
 public:
  static constexpr std::int64_t factors = 2 * Diagonals::around + 1;

  // Weights for points `begin` to `end` - 1 of n, in ascending order, or descending if `backwards`; memory is rounded
  // up to whole groups.
  Linear(std::int64_t n, double diffusion, std::int64_t begin, std::int64_t end, bool backwards)
      : points_(Diagonals::rounded(end - begin) + Diagonals::group),
        values_(static_cast<std::size_t>(factors * points_)) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::array<double, 5> here = at(n, diffusion, i);
      for (std::int64_t f = 0; f < factors; ++f)
        values_[static_cast<std::size_t>(f * points_ + (backwards ? end - 1 - i : i - begin))] =
            here[static_cast<std::size_t>(f)];
    }
  }
  const double* factor(std::int64_t f) const { return values_.data() + f * points_; }
  std::int64_t points() const { return points_; }  // distance between the arrays of two weights

  static std::array<double, 5> at(std::int64_t n, double diffusion, std::int64_t i) {
    const double d = diffusion * flow::Spacing(n).second(), e = flow::dissipation;
    std::array<double, 5> factors = {-e, d + 4 * e, -2 * d - 6 * e, d + 4 * e, -e};
    if (i == 1) factors = {0, d, -2 * d - 5 * e, d + 4 * e, -e};
    if (i == 2) factors[0] = 0;
    if (i == n - 3) factors[4] = 0;
    if (i == n - 2) factors = {-e, d + 4 * e, -2 * d - 5 * e, d, 0};
    return factors;
  }

 private:
  std::int64_t points_;
  std::vector<double> values_;
};

struct RightHandSide {
  const Diagonals& shape;
  Linear x, y;
  std::array<double, 5> z;  // weights of the planes below and above
  double first, viscous;    // factors of flux differences, and of second differences
};

// A neighbour of the point whose right-hand side is computed.
struct Sample {
  [[gnu::always_inline]] Sample(const double* state, const double* beside, std::int64_t size)
      : u(five(state, size)),
        inverse(lanes(beside)),
        velocity{u.momentum.x * inverse, u.momentum.y * inverse, u.momentum.z * inverse},
        pressure(lanes(beside + size)),
        heating(lanes(beside + 2 * size)) {}
  Five u;
  Lanes inverse;
  Vector velocity;
  Lanes pressure, heating;
};

template <Along axis>
[[gnu::always_inline]] inline Five flux(const Sample& p) {
  const Lanes speed = along<axis>(p.velocity);
  Five result = {along<axis>(p.u.momentum),
                 {p.u.momentum.x * speed, p.u.momentum.y * speed, p.u.momentum.z * speed},
                 (p.u.energy + p.pressure) * speed};
  if constexpr (axis == Along::x) result.momentum.x += p.pressure;
  if constexpr (axis == Along::y) result.momentum.y += p.pressure;
  if constexpr (axis == Along::z) result.momentum.z += p.pressure;
  return result;
}

// Inviscid and viscous fluxes from the two neighbours along an axis.
template <Along axis>
[[gnu::always_inline]] inline Five brought(double first, double viscous, const Sample& before, const Sample& after) {
  const Five inviscid = flux<axis>(before) - flux<axis>(after);
  constexpr double in_x = axis == Along::x ? straight : 1, in_y = axis == Along::y ? straight : 1,
                   in_z = axis == Along::z ? straight : 1;
  const Lanes one = along<axis>(before.velocity), other = along<axis>(after.velocity);
  return {first * inviscid.density,
          {first * inviscid.momentum.x + in_x * viscous * (before.velocity.x + after.velocity.x),
           first * inviscid.momentum.y + in_y * viscous * (before.velocity.y + after.velocity.y),
           first * inviscid.momentum.z + in_z * viscous * (before.velocity.z + after.velocity.z)},
          first * inviscid.energy +
              viscous * (before.heating + after.heating + of_straight / 2 * (one * one + other * other))};
}

// Writes the right-hand side of one plane, forcing plus terms of the state, to `r`. `state` has five planes; the third
// is the one computed. `beside` has the derived quantities of the middle three.
KIVIAT_EVERY_WIDTH
inline void right_hand_side(const RightHandSide& by, const std::array<const double*, 5>& state,
                            const std::array<const double*, 3>& beside, const double* forcing, double* r) {
  const Diagonals& shape = by.shape;
  const std::int64_t size = shape.size();
  const double *low2 = state[0], *low = state[1], *u = state[2], *high = state[3], *high2 = state[4];
  const double *beside_low = beside[0], *here = beside[1], *beside_high = beside[2];
  const double first = by.first, viscous = by.viscous;
  const std::array<double, 5> fz = by.z;
  const std::int64_t x_points = by.x.points(), y_points = by.y.points();
  const Range diagonals = shape.diagonals();
  for (std::int64_t s = diagonals.begin; s < diagonals.end; ++s) {
    const Range js = shape.computed(s);
    const std::int64_t at = shape.origin(s) + js.begin;
    const std::int64_t west2 = shape.origin(s - 2) + js.begin - at, west = shape.origin(s - 1) + js.begin - at;
    const std::int64_t east = shape.origin(s + 1) + js.begin - at, east2 = shape.origin(s + 2) + js.begin - at;
    const std::int64_t south2 = west2 - 2, south = west - 1, north = east + 1, north2 = east2 + 2;
    const std::int64_t in_x = shape.x().end - 1 - s + js.begin, in_y = js.begin - shape.y().begin;
    const double *const fx = by.x.factor(0) + in_x, *const fy = by.y.factor(0) + in_y;
    for (std::int64_t l = 0; l < js.size(); l += Diagonals::group) {
      const std::int64_t i = at + l;
      Five sum = five(forcing + i, size) +
                 (lanes(fx + 2 * x_points + l) + lanes(fy + 2 * y_points + l) + fz[2]) * five(u + i, size);
      sum = sum + lanes(fx + 0 * x_points + l) * five(u + i + west2, size) +
            lanes(fx + 1 * x_points + l) * five(u + i + west, size);
      sum = sum + lanes(fx + 3 * x_points + l) * five(u + i + east, size) +
            lanes(fx + 4 * x_points + l) * five(u + i + east2, size);
      sum = sum + lanes(fy + 0 * y_points + l) * five(u + i + south2, size) +
            lanes(fy + 1 * y_points + l) * five(u + i + south, size);
      sum = sum + lanes(fy + 3 * y_points + l) * five(u + i + north, size) +
            lanes(fy + 4 * y_points + l) * five(u + i + north2, size);
      sum = sum + fz[0] * five(low2 + i, size) + fz[1] * five(low + i, size);
      sum = sum + fz[3] * five(high + i, size) + fz[4] * five(high2 + i, size);
      sum = sum + brought<Along::x>(first, viscous, Sample(u + i + west, here + i + west, size),
                                    Sample(u + i + east, here + i + east, size));
      sum = sum + brought<Along::y>(first, viscous, Sample(u + i + south, here + i + south, size),
                                    Sample(u + i + north, here + i + north, size));
      sum = sum + brought<Along::z>(first, viscous, Sample(low + i, beside_low + i, size),
                                    Sample(high + i, beside_high + i, size));
      const Sample own(u + i, here + i, size);
      const double from_all = 2 * (straight + 2) * viscous;
      sum.momentum.x -= from_all * own.velocity.x;
      sum.momentum.y -= from_all * own.velocity.y;
      sum.momentum.z -= from_all * own.velocity.z;
      sum.energy -= viscous * (6 * own.heating + of_straight * dot(own.velocity, own.velocity));
      put(r + i, size, sum);
    }
  }
}

// --- the sweeps ------------------------------------------------------------------------------------------

// Contributions of preceding neighbours to the equations of a plane. The edge at x = const comes from the preceding
// rank. Each point reads its entry, then overwrites it with its own contribution to the next point along x; so after
// the sweep the edge holds what the next rank needs. Entries of the edge at y = const are stored in descending order of
// diagonals.
class Edge {
 public:
  explicit Edge(std::int64_t points)
      : points_(points), stride_(Diagonals::rounded(points) + Diagonals::group), values_(flow::components * stride_) {}
  double* data() { return values_.data(); }
  std::int64_t stride() const { return stride_; }
  std::int64_t points() const { return points_; }
  // Number of elements of a message, which has no gaps between components.
  std::int64_t packed() const { return static_cast<std::int64_t>(flow::components) * points_; }
  void pack(double* message) const {
    for (std::size_t m = 0; m < flow::components; ++m)
      std::copy_n(values_.data() + m * stride_, points_, message + m * points_);
  }
  void unpack(const double* message) {
    for (std::size_t m = 0; m < flow::components; ++m)
      std::copy_n(message + m * points_, points_, values_.data() + m * stride_);
  }
  void clear() { std::ranges::fill(values_, 0.0); }

 private:
  std::int64_t points_, stride_;
  std::vector<double> values_;
};

struct Sweep {
  const Diagonals& shape;
  Edge &x, &y;  // edges at x = const and at y = const
  double* z;    // contributions to this plane from the preceding plane
  Diagonal diagonal;
  Influence influence;
  double step, relaxation;  // time step; relaxation factor of the update of the state
};

// Lower sweep: solves (D + L) v = r and stores v in r; the factors of r and L contain the time step. Upper sweep:
// solves v + D^-1 U v = r and updates the state.
template <bool upper>
[[gnu::always_inline]] inline void sweep(const Sweep& by, double* u, double* r) {
  const Diagonals& shape = by.shape;
  const std::int64_t size = shape.size(), x_stride = by.x.stride(), y_stride = by.y.stride();
  const Diagonal diagonal = by.diagonal;
  const Influence influenced = by.influence;
  const double step = by.step, relaxation = by.relaxation;
  const Range diagonals = shape.diagonals();
  for (std::int64_t n = 0; n < diagonals.size(); ++n) {
    const std::int64_t s = upper ? diagonals.end - 1 - n : diagonals.begin + n;
    const Range js = shape.computed(s);
    const std::int64_t at = shape.origin(s) + js.begin, points = js.size();
    double* const x = by.x.data() + js.begin - shape.y().begin;
    double* const y = by.y.data() + shape.x().end - 1 - s + js.begin;
    double* const z = by.z;
    const std::int64_t groups = (points + Diagonals::group - 1) / Diagonals::group;
    // Visits groups in memory order, forwards or backwards.
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t l = (upper ? groups - 1 - g : g) * Diagonals::group, i = at + l;
      const Chosen inside = lane_numbers < points - l;
      const Five state = five(u + i, size), before_x = five(x + l, x_stride), before_y = five(y + l, y_stride);
      const Point point(state);
      const Five before = before_x + before_y + five(z + i, size);
      const Five v = upper ? five(r + i, size) + solved(diagonal, point, before)
                           : solved(diagonal, point, step * five(r + i, size) + before);
      const Change change = change_of(point, v);
      const Common common(influenced, point, change);
      put(x + l, x_stride, chosen(inside, influence<Along::x>(influenced, point, change, common), before_x));
      put(y + l, y_stride, chosen(inside, influence<Along::y>(influenced, point, change, common), before_y));
      put(z + i, size, influence<Along::z>(influenced, point, change, common));
      if constexpr (upper)
        put(u + i, size, chosen(inside, state + relaxation * v, state));
      else
        put(r + i, size, v);
    }
  }
}

KIVIAT_EVERY_WIDTH
inline void lower_sweep(const Sweep& by, double* u, double* r) { sweep<false>(by, u, r); }

KIVIAT_EVERY_WIDTH
inline void upper_sweep(const Sweep& by, double* u, double* r) { sweep<true>(by, u, r); }

}  // namespace kiviat::npb::ssor
