// Lennard-Jones potential, 4 (r^-12 - r^-6) up to the cutoff and 0 beyond, in reduced units; forces by a half list, in
// which each pair occurs once (Newton's third law), four pairs at a time.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "bench/app/atoms.hpp"
#include "bench/app/half_list.hpp"
#include "kernels/target_clones.hpp"

namespace kiviat::app {

struct LennardJones {
  static constexpr double cutoff = 2.5;

  // Returns the energy of a pair, and force times distance; `squared` is the squared distance.
  static std::pair<double, double> of(double squared) {
    const double sixth = 1 / (squared * squared * squared);
    return {4 * sixth * (sixth - 1), 24 * sixth * (2 * sixth - 1)};
  }
};

// Sums over the pairs of this rank.
struct Tally {
  double energy = 0, virial = 0;
};

namespace lennard_jones {

using Lane4 = double __attribute__((vector_size(32), may_alias));
using Mask4 = long long __attribute__((vector_size(32)));

// Elements of two vectors, numbered 0 to 7.
#if __has_builtin(__builtin_shufflevector)
#define KIVIAT_PICK(one, other, ...) __builtin_shufflevector(one, other, __VA_ARGS__)
#else  // GCC before 12
#define KIVIAT_PICK(one, other, ...) __builtin_shuffle(one, other, Mask4{__VA_ARGS__})
#endif

// Adds the pairs' forces. Pairs beyond the cutoff are computed and discarded, because branches would cost more.
template <bool tallied>
[[gnu::always_inline]] inline void add_forces(const HalfList& list, const Four* positions, Four* forces, Tally& tally) {
  const auto* const x = reinterpret_cast<const Lane4*>(positions);
  auto* const f = reinterpret_cast<Lane4*>(forces);
  const std::int32_t* const neighbours = list.neighbours();
  constexpr double reach = LennardJones::cutoff * LennardJones::cutoff;
  Lane4 energies{}, virials{};
  for (std::int64_t i = 0; i < list.atoms(); ++i) {
    const Lane4 here = x[i];
    Lane4 sum0{}, sum1{}, sum2{}, sum3{};
    const std::int64_t end = list.begin(i + 1);
    for (std::int64_t at = list.begin(i); at < end; at += HalfList::width) {
      const std::int32_t j0 = neighbours[at], j1 = neighbours[at + 1], j2 = neighbours[at + 2], j3 = neighbours[at + 3];
      const Lane4 d0 = here - x[j0], d1 = here - x[j1], d2 = here - x[j2], d3 = here - x[j3];
      const Lane4 s0 = d0 * d0, s1 = d1 * d1, s2 = d2 * d2, s3 = d3 * d3;
      // Squared distances of four pairs: sums the squares of each pair's coordinates.
      const Lane4 t01 = KIVIAT_PICK(s0, s1, 0, 4, 2, 6) + KIVIAT_PICK(s0, s1, 1, 5, 3, 7);
      const Lane4 t23 = KIVIAT_PICK(s2, s3, 0, 4, 2, 6) + KIVIAT_PICK(s2, s3, 1, 5, 3, 7);
      const Lane4 squared = KIVIAT_PICK(t01, t23, 0, 1, 4, 5) + KIVIAT_PICK(t01, t23, 2, 3, 6, 7);
      const Lane4 inverse = 1.0 / squared;
      const Lane4 sixth = inverse * inverse * inverse;
      const Mask4 within = (Mask4)(squared < reach);
      const Lane4 strength = (Lane4)((Mask4)(sixth * (48.0 * sixth - 24.0) * inverse) & within);
      if constexpr (tallied) {
        energies += (Lane4)((Mask4)(sixth * (4.0 * sixth - 4.0)) & within);
        virials += strength * squared;
      }
      const Lane4 f0 = KIVIAT_PICK(strength, strength, 0, 0, 0, 0) * d0;
      const Lane4 f1 = KIVIAT_PICK(strength, strength, 1, 1, 1, 1) * d1;
      const Lane4 f2 = KIVIAT_PICK(strength, strength, 2, 2, 2, 2) * d2;
      const Lane4 f3 = KIVIAT_PICK(strength, strength, 3, 3, 3, 3) * d3;
      sum0 += f0, sum1 += f1, sum2 += f2, sum3 += f3;
      f[j0] -= f0, f[j1] -= f1, f[j2] -= f2, f[j3] -= f3;
    }
    f[i] += (sum0 + sum1) + (sum2 + sum3);
  }
  for (int lane = 0; lane < 4; ++lane) tally.energy += energies[lane], tally.virial += virials[lane];
}

KIVIAT_EVERY_WIDTH
static void add_forces_only(const HalfList& list, const Four* positions, Four* forces) {
  Tally none;
  add_forces<false>(list, positions, forces, none);
}

KIVIAT_EVERY_WIDTH
static void add_forces_and_tally(const HalfList& list, const Four* positions, Four* forces, Tally& tally) {
  add_forces<true>(list, positions, forces, tally);
}

}  // namespace lennard_jones
}  // namespace kiviat::app
