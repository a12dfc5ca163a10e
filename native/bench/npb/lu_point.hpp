// LU at one point. The 5 x 5 matrices of the report (RNR-94-007, section 3) are never formed: changes of fluxes follow
// from the product rule. Viscous terms depend on gradients of velocity and of energy per mass; in these variables the
// diagonal block is triangular.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "bench/npb/flow.hpp"

namespace kiviat::npb::ssor {

enum class Along { x, y, z };

// All functions with SIMD parameters are inlined, so their calling convention does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

// Four points side by side, in one or several registers. The class of kernels/simd.hpp is not used: with one register
// of four it made LU a quarter to a third slower (class W, GCC 12.2), because a point has more values than there are
// registers, and diagonals are too short for eight.
using Lanes [[gnu::vector_size(32)]] = double;
using Chosen [[gnu::vector_size(32)]] = std::int64_t;
constexpr Chosen lane_numbers = {0, 1, 2, 3};

[[gnu::always_inline]] inline Lanes lanes(const double* from) {
  Lanes value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
[[gnu::always_inline]] inline void put(double* to, const Lanes& value) { std::memcpy(to, &value, sizeof value); }

struct Vector {
  Lanes x, y, z;
};
template <Along axis>
[[gnu::always_inline]] inline Lanes along(const Vector& v) {
  return axis == Along::x ? v.x : axis == Along::y ? v.y : v.z;
}
[[gnu::always_inline]] inline Lanes dot(const Vector& a, const Vector& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

// The five components of a state, or of a change of it.
struct Five {
  Lanes density;
  Vector momentum;
  Lanes energy;
};
[[gnu::always_inline]] inline Five operator+(const Five& a, const Five& b) {
  return {a.density + b.density,
          {a.momentum.x + b.momentum.x, a.momentum.y + b.momentum.y, a.momentum.z + b.momentum.z},
          a.energy + b.energy};
}
[[gnu::always_inline]] inline Five operator-(const Five& a, const Five& b) {
  return {a.density - b.density,
          {a.momentum.x - b.momentum.x, a.momentum.y - b.momentum.y, a.momentum.z - b.momentum.z},
          a.energy - b.energy};
}
[[gnu::always_inline]] inline Five operator*(double f, const Five& a) {
  return {f * a.density, {f * a.momentum.x, f * a.momentum.y, f * a.momentum.z}, f * a.energy};
}
[[gnu::always_inline]] inline Five operator*(const Lanes& f, const Five& a) {
  return {f * a.density, {f * a.momentum.x, f * a.momentum.y, f * a.momentum.z}, f * a.energy};
}

[[gnu::always_inline]] inline Five chosen(const Chosen& first, const Five& a, const Five& b) {
  return {
      first ? a.density : b.density,
      {first ? a.momentum.x : b.momentum.x, first ? a.momentum.y : b.momentum.y, first ? a.momentum.z : b.momentum.z},
      first ? a.energy : b.energy};
}

// Components lie `stride` elements apart.
[[gnu::always_inline]] inline Five five(const double* from, std::int64_t stride) {
  return {lanes(from),
          {lanes(from + stride), lanes(from + 2 * stride), lanes(from + 3 * stride)},
          lanes(from + 4 * stride)};
}
[[gnu::always_inline]] inline void put(double* to, std::int64_t stride, const Five& a) {
  put(to, a.density), put(to + stride, a.momentum.x), put(to + 2 * stride, a.momentum.y);
  put(to + 3 * stride, a.momentum.z), put(to + 4 * stride, a.energy);
}

// Viscosity is a factor of all viscous terms. Factors in the energy flux: of kinetic energy (same along all axes), of
// the velocity along the gradient, of energy per mass.
constexpr double viscosity = flow::k3 * flow::k4;
constexpr double of_kinetic = 1 - flow::k1 * flow::k5, of_straight = 1.0 / 3, of_energy = flow::k1 * flow::k5;
// Ratio of the viscous flux of the velocity component along the gradient to that of the other components.
constexpr double straight = 4.0 / 3;

// Quantities derived from a state.
struct Point {
  [[gnu::always_inline]] explicit Point(const Five& u)
      : density(u.density),
        inverse(1 / u.density),
        velocity{u.momentum.x * inverse, u.momentum.y * inverse, u.momentum.z * inverse},
        energy(u.energy * inverse),
        kinetic(0.5 * dot(velocity, velocity)) {}
  Lanes density, inverse;
  Vector velocity;
  Lanes energy, kinetic;  // total and kinetic energy, per unit of mass
};

// A change of the state, and the resulting changes of density times velocity and of density times energy per mass.
struct Change {
  Five state;
  Vector velocity;
  Lanes energy;
};

[[gnu::always_inline]] inline Change change_of(const Point& point, const Five& v) {
  return {v,
          {v.momentum.x - point.velocity.x * v.density, v.momentum.y - point.velocity.y * v.density,
           v.momentum.z - point.velocity.z * v.density},
          v.energy - point.energy * v.density};
}

// The diagonal block is own * I + viscous * N, where N is the sum over the axes of the Jacobian of the viscous flux
// with respect to the gradient of the state.
struct Diagonal {
  double own, viscous;
};

// Returns the change of the state that solves the diagonal block's system for the right-hand side `right`.
[[gnu::always_inline]] inline Five solved(const Diagonal& d, const Point& p, const Five& right) {
  constexpr double of_velocity = straight + 2;
  const Lanes own = d.own * p.density;
  const Lanes f = p.density / (own + of_velocity * d.viscous), g = 1 / (own + 3 * of_energy * d.viscous);
  const Vector velocity = {f * (right.momentum.x - p.velocity.x * right.density),
                           f * (right.momentum.y - p.velocity.y * right.density),
                           f * (right.momentum.z - p.velocity.z * right.density)};
  const Lanes heating = (3 * of_kinetic + of_straight) * d.viscous * dot(p.velocity, velocity);
  const Lanes energy = g * (p.density * (right.energy - p.energy * right.density) - heating);
  const Lanes density = (1 / d.own) * right.density;
  return {
      density,
      {velocity.x + p.velocity.x * density, velocity.y + p.velocity.y * density, velocity.z + p.velocity.z * density},
      energy + p.energy * density};
}

// Contribution of a point to the equations of its neighbours: `flux` times the change of the inviscid flux, plus
// transport by viscosity and diffusion.
struct Influence {
  double flux, viscous;
  std::array<double, 3> diffusion;
};

// The part of the contributions that is the same along all axes.
struct Common {
  [[gnu::always_inline]] Common(const Influence& by, const Point& p, const Change& c)
      : pressure(flow::k2 * (c.state.energy - dot(p.velocity, c.state.momentum) + p.kinetic * c.state.density)),
        enthalpy(flow::k1 * p.energy - flow::k2 * p.kinetic),
        gradient(by.viscous * p.inverse),
        heating(of_kinetic * dot(p.velocity, c.velocity) + of_energy * c.energy) {}
  Lanes pressure, enthalpy, gradient, heating;
};

template <Along axis>
[[gnu::always_inline]] inline Five influence(const Influence& by, const Point& p, const Change& c,
                                             const Common& common) {
  const Lanes speed = along<axis>(p.velocity), mass = along<axis>(c.state.momentum), change = along<axis>(c.velocity);
  const double diffusion = by.diffusion[static_cast<int>(axis)];
  const Lanes pressure = by.flux * common.pressure;
  const Lanes across = by.flux * speed + common.gradient, directly = by.flux * speed + straight * common.gradient;
  const Lanes carried = by.flux * mass;
  Five result = {
      carried + diffusion * c.state.density,
      {carried * p.velocity.x + (axis == Along::x ? directly : across) * c.velocity.x + diffusion * c.state.momentum.x,
       carried * p.velocity.y + (axis == Along::y ? directly : across) * c.velocity.y + diffusion * c.state.momentum.y,
       carried * p.velocity.z + (axis == Along::z ? directly : across) * c.velocity.z + diffusion * c.state.momentum.z},
      by.flux * (common.enthalpy * change + speed * (c.state.energy + common.pressure)) +
          common.gradient * (common.heating + of_straight * speed * change) + diffusion * c.state.energy};
  if constexpr (axis == Along::x) result.momentum.x += pressure;
  if constexpr (axis == Along::y) result.momentum.y += pressure;
  if constexpr (axis == Along::z) result.momentum.z += pressure;
  return result;
}

}  // namespace kiviat::npb::ssor
