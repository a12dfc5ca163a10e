// Reference results of Gears, computed from the geometry alone, without mesh, ranks and messages.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "bench/app/face_search.hpp"
#include "bench/app/gear_train.hpp"
#include "support/random.hpp"

namespace kiviat::app {

// Number of contacts, and an order-independent checksum.
struct Contacts {
  std::uint64_t count = 0, sum = 0;

  void add(std::uint32_t domain, std::uint32_t range) {  // face numbers, counted over all gears
    std::uint32_t word = (domain * 0x9e3779b1u) ^ (range * 0x85ebca6bu);
    word = (word ^ (word >> 15)) * 0x2c1b3c6du;
    ++count, sum += std::uint64_t{word ^ (word >> 13)} + (std::uint64_t{domain} << 32);
  }
  bool operator==(const Contacts&) const = default;
};

inline std::uint32_t number_of_face(std::uint32_t gear, std::uint32_t face) { return gear * Gear::faces + face; }

// The boxes of all faces of a gear.
class GearBoxes {
 public:
  GearBoxes(const Train& train, const Turn& turn, std::int64_t gear, const Reach& reach) {
    constexpr int first = Gear::node(Gear::layers, 0, 0);
    std::vector<Vector> at;
    for (int node = first; node < Gear::nodes; ++node) at.push_back(train.position(turn, gear, node));
    for (int face = 0; face < Gear::faces; ++face) {
      std::array<Vector, 4> corners;
      const std::array<int, 4> nodes = Gear::nodes_of_face(face);
      for (std::size_t i = 0; i < 4; ++i) corners[i] = at[static_cast<std::size_t>(nodes[i] - first)];
      boxes_[static_cast<std::size_t>(face)] = reach.around(box_of(corners));
    }
  }
  const Box& operator[](std::size_t face) const { return boxes_[face]; }

 private:
  std::array<Box, Gear::faces> boxes_;
};

// Contacts of given faces with those of all gears of higher number.
class ContactReplay {
 public:
  // `faces`: ascending by gear; `within`: distance below which faces are near.
  template <class List>
  ContactReplay(const Train& train, const Reach& reach, double within, const List& faces)
      : train_(train), reach_(reach), within_(within) {
    for (const auto& face : faces) {
      if (pieces_.empty() || pieces_.back().gear != face.gear) pieces_.push_back({face.gear, {}});
      pieces_.back().faces.push_back(face.number);
    }
  }

  // Returns the contacts found by searching one gear against another, for all pairs of gears that can touch.
  Contacts searched(const Turn& turn) {
    Contacts contacts;
    each_meeting(turn, [&](const Piece& piece, const GearBoxes& own, std::uint32_t gear, const GearBoxes& other) {
      own_.clear(), others_.clear();
      for (const std::uint32_t face : piece.faces) own_.add(piece.gear, face, own[face]);
      for (std::uint32_t face = 0; face < Gear::faces; ++face) others_.add(gear, face, other[face]);
      const auto domain = static_cast<std::uint32_t>(own_.size());
      for (const Contact& contact : search_(own_, others_))
        contacts.add(number_of_face(piece.gear, own_.number(contact.domain)),
                     number_of_face(gear, others_.number(contact.range - domain)));
    });
    return contacts;
  }
  // Returns the contacts found by comparing all pairs of faces.
  Contacts compared(const Turn& turn) const {
    Contacts contacts;
    each_meeting(turn, [&](const Piece& piece, const GearBoxes& own, std::uint32_t gear, const GearBoxes& other) {
      for (const std::uint32_t domain : piece.faces)
        for (std::uint32_t range = 0; range < Gear::faces; ++range)
          if (own[domain].overlaps(other[range]))
            contacts.add(number_of_face(piece.gear, domain), number_of_face(gear, range));
    });
    return contacts;
  }

 private:
  struct Piece {
    std::uint32_t gear;
    std::vector<std::uint32_t> faces;
  };

  template <class Meet>
  void each_meeting(const Turn& turn, const Meet& meet) const {
    std::map<std::int64_t, GearBoxes> known;
    const auto boxes = [&](std::int64_t gear) -> const GearBoxes& {
      return known.try_emplace(gear, train_, turn, gear, reach_).first->second;
    };
    for (const Piece& piece : pieces_)
      train_.each_higher_neighbour(piece.gear, within_, [&](std::int64_t gear) {
        meet(piece, boxes(piece.gear), static_cast<std::uint32_t>(gear), boxes(gear));
      });
  }

  Train train_;
  Reach reach_;
  double within_;
  std::vector<Piece> pieces_;
  Faces own_, others_;
  FaceSearch search_;
};

// Initial value of the field at a node: pseudo-random, in [0, 1).
inline double first_value(std::uint64_t seed, std::int64_t gear, int node) {
  return centred(random_at(seed, static_cast<std::uint64_t>(gear * Gear::nodes + node))) + 0.5;
}

// Returns the field at the nodes of a gear after `steps` diffusion steps, summed in the order of numbers.
inline std::vector<double> diffused(std::uint64_t seed, std::int64_t gear, int steps) {
  std::vector<double> value(Gear::nodes), mean(Gear::elements);
  for (int node = 0; node < Gear::nodes; ++node) value[static_cast<std::size_t>(node)] = first_value(seed, gear, node);
  const auto at = [&](int layer, int angle, int plane) -> double& {
    return value[static_cast<std::size_t>(Gear::node(layer, angle % Gear::around, plane))];
  };
  for (int step = 0; step < steps; ++step) {
    for (int l = 0; l < Gear::layers; ++l)
      for (int a = 0; a < Gear::around; ++a)
        for (int s = 0; s < Gear::slices; ++s) {
          double sum = 0;
          for (int i = 0; i < 8; ++i) sum += at(l + i / 4, a + i / 2 % 2, s + i % 2);
          mean[static_cast<std::size_t>(Gear::element(l, a, s))] = sum / 8;
        }
    for (int l = 0; l <= Gear::layers; ++l)
      for (int a = 0; a < Gear::around; ++a)
        for (int s = 0; s <= Gear::slices; ++s) {
          const int before = (a + Gear::around - 1) % Gear::around;
          double sum = 0;
          int count = 0;
          for (int layer = std::max(l - 1, 0); layer <= std::min(l, Gear::layers - 1); ++layer)
            for (const int angle : {std::min(before, a), std::max(before, a)})
              for (int slice = std::max(s - 1, 0); slice <= std::min(s, Gear::slices - 1); ++slice)
                sum += mean[static_cast<std::size_t>(Gear::element(layer, angle, slice))], ++count;
          at(l, a, s) = sum / count;
        }
  }
  return value;
}

}  // namespace kiviat::app
