// Geometry of Gears: a grid of gears that turn against each other, each a ring of hexahedra. Computes, from their
// numbers, positions of nodes at any angle, nodes of elements and faces, and elements around nodes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "bench/app/vector.hpp"

namespace kiviat::app {

// Properties common to all gears. Elements and nodes are numbered along the axis first, then around it, then outwards.
// A face is the outer face of an outermost element.
struct Gear {
  static constexpr int around = 62, layers = 4, slices = 8;
  static constexpr int elements = around * layers * slices, faces = around * slices;
  static constexpr int nodes = around * (layers + 1) * (slices + 1);
  static constexpr double inner_radius = 0.6, outer_radius = 1.001, half_width = 0.4;
  static constexpr int first_outer_element = elements - faces;

  static constexpr int element(int layer, int angle, int slice) { return (layer * around + angle) * slices + slice; }
  static constexpr int node(int layer, int angle, int plane) { return (layer * around + angle) * (slices + 1) + plane; }

  // Returns the eight nodes of an element, in the order of summation.
  static std::array<int, 8> nodes_of_element(int element) {
    const int slice = element % slices, angle = element / slices % around, layer = element / slices / around;
    std::array<int, 8> nodes;
    for (int i = 0; i < 8; ++i)
      nodes[static_cast<std::size_t>(i)] = node(layer + i / 4, (angle + i / 2 % 2) % around, slice + i % 2);
    return nodes;
  }
  static std::array<int, 4> nodes_of_face(int face) {
    const int slice = face % slices, angle = face / slices, next = (angle + 1) % around;
    return {node(layers, angle, slice), node(layers, angle, slice + 1), node(layers, next, slice),
            node(layers, next, slice + 1)};
  }
  // Calls use(element) once for each element whose nodes are at most `reach` elements away from the node (1: elements
  // that contain it). The elements must not reach all around the gear.
  template <class Use>
  static void each_element_near(int node, int reach, Use use) {
    const int plane = node % (slices + 1), angle = node / (slices + 1) % around, layer = node / (slices + 1) / around;
    for (int l = std::max(layer - reach, 0); l < std::min(layer + reach, layers); ++l)
      for (int a = angle - reach; a < angle + reach; ++a)
        for (int s = std::max(plane - reach, 0); s < std::min(plane + reach, slices); ++s)
          use(element(l, (a + around) % around, s));
  }
};

// Cosines and sines of the spokes of gears that turn forwards and backwards.
class Turn {
 public:
  explicit Turn(double radians) {
    for (int way = 0; way < 2; ++way)
      for (int i = 0; i < Gear::around; ++i) {
        const double angle = 2 * std::numbers::pi * i / Gear::around + (way ? radians : -radians);
        spokes_[static_cast<std::size_t>(way)][static_cast<std::size_t>(i)] = {std::cos(angle), std::sin(angle)};
      }
  }
  const std::array<double, 2>& spoke(bool forwards, int angle) const {
    return spokes_[forwards][static_cast<std::size_t>(angle)];
  }

 private:
  std::array<std::array<std::array<double, 2>, Gear::around>, 2> spokes_;
};

// i x j x k gears along x, y and z. In a plane the axes form a honeycomb with distance 2, so each gear meshes with up
// to three others; planes are stacked along z.
struct Train {
  std::int64_t i, j, k;

  std::int64_t gears() const { return i * j * k; }
  std::int64_t elements() const { return gears() * Gear::elements; }
  std::int64_t faces() const { return gears() * Gear::faces; }

  Vector centre(std::int64_t gear) const {
    const std::int64_t x = gear % i, y = gear / i % j, z = gear / i / j;
    const bool shifted = (x % 2 != 0) == (y % 2 != 0);
    return {static_cast<double>(3 * x + (shifted ? 1 : 0)), std::numbers::sqrt3 * static_cast<double>(y),
            static_cast<double>(z) + Gear::half_width};
  }
  bool forwards(std::int64_t gear) const { return (gear % i % 2 != 0) != (gear / i % j % 2 != 0); }

  Vector position(const Turn& turn, std::int64_t gear, int node) const {
    const int plane = node % (Gear::slices + 1), angle = node / (Gear::slices + 1) % Gear::around;
    const int layer = node / (Gear::slices + 1) / Gear::around;
    const Vector middle = centre(gear);
    const std::array<double, 2>& spoke = turn.spoke(forwards(gear), angle);
    const double radius = Gear::inner_radius + (Gear::outer_radius - Gear::inner_radius) * layer / Gear::layers;
    return {middle[0] + radius * spoke[0], middle[1] + radius * spoke[1],
            middle[2] + Gear::half_width * (2.0 * plane / Gear::slices - 1)};
  }
  std::array<Vector, 4> corners(const Turn& turn, std::int64_t gear, int face) const {
    std::array<Vector, 4> at;
    const std::array<int, 4> nodes = Gear::nodes_of_face(face);
    for (std::size_t corner = 0; corner < 4; ++corner) at[corner] = position(turn, gear, nodes[corner]);
    return at;
  }
  Vector middle_of(const Turn& turn, std::int64_t gear, int element) const {
    const int slice = element % Gear::slices, angle = element / Gear::slices % Gear::around;
    const int layer = element / Gear::slices / Gear::around, next_angle = (angle + 1) % Gear::around;
    const Vector middle = centre(gear);
    const bool way = forwards(gear);
    const std::array<double, 2>&one = turn.spoke(way, angle), &next = turn.spoke(way, next_angle);
    const double radius = Gear::inner_radius + (Gear::outer_radius - Gear::inner_radius) * (layer + 0.5) / Gear::layers;
    return {middle[0] + radius * (one[0] + next[0]) / 2, middle[1] + radius * (one[1] + next[1]) / 2,
            middle[2] + Gear::half_width * ((2.0 * slice + 1) / Gear::slices - 1)};
  }
  // Longest side of the bounding box of all gears.
  double extent() const {
    return std::max(
               {3.0 * static_cast<double>(i), std::numbers::sqrt3 * static_cast<double>(j), static_cast<double>(k)}) +
           2.1;
  }
  static constexpr Vector lowest_corner() { return {-1.01, -1.01, -0.01}; }

  // Calls use(other) for each gear of higher number whose faces can come within `reach` of this gear's.
  template <class Use>
  void each_higher_neighbour(std::int64_t gear, double reach, Use use) const {
    const Vector here = centre(gear);
    // A gear extends 1.001 from its axis; neighbours are 2 or 4 apart along x, 1.7 along y, 1 along z.
    const std::int64_t span = 2 + static_cast<std::int64_t>(reach);
    const std::int64_t x = gear % i, y = gear / i % j, z = gear / i / j;
    for (std::int64_t c = std::max<std::int64_t>(z - span, 0); c <= std::min(z + span, k - 1); ++c)
      for (std::int64_t b = std::max<std::int64_t>(y - span, 0); b <= std::min(y + span, j - 1); ++b)
        for (std::int64_t a = std::max<std::int64_t>(x - span, 0); a <= std::min(x + span, i - 1); ++a) {
          const std::int64_t other = a + i * (b + j * c);
          if (other <= gear) continue;
          const Vector there = centre(other);
          // 1e-3 allows for rounding.
          constexpr double most = 2 * Gear::outer_radius + 1e-3, most_z = 2 * Gear::half_width + 1e-3;
          if (std::abs(here[0] - there[0]) <= most + reach && std::abs(here[1] - there[1]) <= most + reach &&
              std::abs(here[2] - there[2]) <= most_z + reach)
            use(other);
        }
  }
};

}  // namespace kiviat::app
