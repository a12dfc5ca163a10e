// The problem of the three simulated CFD applications (LU, SP, BT): the compressible Navier-Stokes equations on a
// cube, with a forcing term that makes the steady solution known. D. Bailey et al., The NAS Parallel Benchmarks,
// RNR-94-007, 1994, section 3.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace kiviat::npb::flow {

// Density, momentum in x, y and z, total energy.
constexpr std::size_t components = 5;
using State = std::array<double, components>;

// k1 to k5: ratio of specific heats, that ratio minus 1, and the factors of viscosity and heat conduction (section
// 3.3).
constexpr double k1 = 1.4, k2 = 0.4, k3 = 0.1, k4 = 1, k5 = 1.4;
// Coefficients of second-order dissipation along x, y and z, the same for all components.
constexpr std::array<double, 3> diffusion = {0.75, 0.75, 1};
// Coefficient of fourth-order dissipation.
constexpr double dissipation = 0.25 * std::max({diffusion[0], diffusion[1], diffusion[2]});

// Factors that turn differences along an axis of n points into derivatives.
struct Spacing {
  constexpr explicit Spacing(std::int64_t n) : inverse(static_cast<double>(n - 1)) {}
  double inverse;                                                // 1 / h
  constexpr double first() const { return inverse / 2; }         // factor of f(i + 1) - f(i - 1)
  constexpr double second() const { return inverse * inverse; }  // factor of f(i - 1) - 2 f(i) + f(i + 1)
};

// The exact solution for x, y, z in [0, 1]: each component is a sum of polynomials of degree 4 in x, y and z.
// Coefficients from table 3.1: the constant, then those of x, y, z, of their squares, cubes and fourth powers.
constexpr std::array<std::array<double, 13>, components> coefficients = {
    {{2, 0, 0, 4, 5, 3, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
     {1, 0, 0, 0, 1, 2, 3, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
     {2, 2, 0, 0, 0, 2, 3, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
     {2, 2, 0, 0, 0, 2, 3, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
     {5, 4, 3, 2, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2}}};

inline State exact(double x, double y, double z) {
  State u;
  for (std::size_t m = 0; m < components; ++m) {
    const auto& c = coefficients[m];
    const auto along = [&](std::size_t axis, double s) {
      return s * (c[1 + axis] + s * (c[4 + axis] + s * (c[7 + axis] + s * c[10 + axis])));
    };
    u[m] = c[0] + along(0, x) + along(1, y) + along(2, z);
  }
  return u;
}

// Initial state in the interior: transfinite interpolation between opposite faces, which have the exact solution
// (section 3.4).
inline State initial(double x, double y, double z) {
  const std::array<State, 3> low = {exact(0, y, z), exact(x, 0, z), exact(x, y, 0)};
  const std::array<State, 3> high = {exact(1, y, z), exact(x, 1, z), exact(x, y, 1)};
  const std::array<double, 3> at = {x, y, z};
  State u;
  for (std::size_t m = 0; m < components; ++m) {
    std::array<double, 3> p;
    for (std::size_t axis = 0; axis < 3; ++axis) p[axis] = at[axis] * high[axis][m] + (1 - at[axis]) * low[axis][m];
    u[m] = p[0] + p[1] + p[2] - p[0] * p[1] - p[0] * p[2] - p[1] * p[2] + p[0] * p[1] * p[2];
  }
  return u;
}

// Root mean square over the (n - 2)^3 interior points, from this rank's sums of squares. Collective.
inline State norms(State sums, std::int64_t n, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(components), MPI_DOUBLE, MPI_SUM, comm);
  const double interior = static_cast<double>(n - 2) * static_cast<double>(n - 2) * static_cast<double>(n - 2);
  for (double& sum : sums) sum = std::sqrt(sum / interior);
  return sums;
}

}  // namespace kiviat::npb::flow
