// The mesh of one rank: its elements, one layer of other ranks' elements around them (ghosts), the nodes of both, and
// the ranks that share each node. The owner of an element follows from its number, so each rank determines what it
// shares without communication.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "bench/app/gear_train.hpp"

namespace kiviat::app {

// Returns the rank that owns an element of a gear.
using Owner = std::function<int(std::int64_t gear, int element)>;

// A node or face that this rank and another rank both have.
struct Sharing {
  static constexpr std::uint64_t face_bit = std::uint64_t{1} << 63;

  std::uint64_t entity;
  int rank;  // the other rank
  auto operator<=>(const Sharing&) const = default;

  static std::uint64_t node(std::int64_t gear, int node) {
    return static_cast<std::uint64_t>(gear * Gear::nodes + node);
  }
  static std::uint64_t face(std::int64_t gear, int face) {
    return face_bit | static_cast<std::uint64_t>(gear * Gear::faces + face);
  }
};

class GearMesh {
 public:
  struct Face {
    std::uint32_t gear, number;
    std::array<std::int32_t, 4> nodes;
  };
  using Lists = std::map<int, std::vector<std::int32_t>>;  // node lists by rank, in the same order on both sides

  // `elements`: numbers of this rank's elements, ascending: gear * Gear::elements + number in the gear.
  GearMesh(const Train& train, std::span<const std::int64_t> elements, int rank, const Owner& owner)
      : train_(train), rank_(rank) {
    for (auto begin = elements.begin(); begin != elements.end();) {
      const std::int64_t gear = *begin / Gear::elements;
      begin =
          std::find_if(begin, elements.end(), [&](std::int64_t element) { return element / Gear::elements != gear; });
      add_piece(gear, owner);
    }
    for (std::vector<double>* const one : {&x_, &y_, &value_}) one->resize(z_.size());
    mean_.resize(element_nodes_.size());
    std::ranges::sort(sharing_);
  }

  std::size_t nodes() const { return z_.size(); }
  std::size_t own_elements() const { return own_elements_; }
  std::size_t elements() const { return element_nodes_.size(); }  // number of own elements
  const std::vector<Face>& faces() const { return faces_; }
  const std::vector<Sharing>& sharing() const { return sharing_; }
  const Lists& outgoing() const { return outgoing_; }  // owned nodes, for each rank that has them as ghosts
  const Lists& incoming() const { return incoming_; }
  Vector position(std::int32_t node) const { return {x_[index(node)], y_[index(node)], z_[index(node)]}; }
  double value(std::int32_t node) const { return value_[index(node)]; }

  // Sets the position and value of a node received from its owner.
  void set(std::int32_t node, const Vector& at, double value) {
    x_[index(node)] = at[0], y_[index(node)] = at[1], z_[index(node)] = at[2], value_[index(node)] = value;
  }
  // Calls use(local number, gear, number in the gear, whether it belongs to an own element) for each node.
  template <class Use>
  void each_node(Use use) const {
    for (const Piece& piece : pieces_)
      for (int node = 0; node < Gear::nodes; ++node)
        if (const std::int32_t at = piece.nodes[index(node)]; at >= 0)
          use(at, piece.gear, node, begins_[index(at)] < begins_[index(at) + 1]);
  }
  // Calls use(gear, number in the gear, local numbers of its nodes) for each own element, in ascending order.
  template <class Use>
  void each_own_element(Use use) const {
    for (const Piece& piece : pieces_)
      for (int element = 0; element < Gear::elements; ++element) {
        if (piece.owners[index(element)] != rank_) continue;
        std::array<std::int32_t, 8> local;
        const std::array<int, 8> nodes = Gear::nodes_of_element(element);
        for (std::size_t i = 0; i < 8; ++i) local[i] = piece.nodes[index(nodes[i])];
        use(piece.gear, element, local);
      }
  }
  std::vector<std::int64_t> gears() const {
    std::vector<std::int64_t> gears;
    for (const Piece& piece : pieces_) gears.push_back(piece.gear);
    return gears;
  }

  // Moves the nodes owned by this rank.
  void rotate(const Turn& turn) {
    for (const Spin& spin : spins_) {
      const Vector& middle = centres_[index(spin.piece)];
      const std::array<double, 2>& spoke = turn.spoke(spin.forwards, spin.angle);
      x_[index(spin.node)] = middle[0] + spin.radius * spoke[0];
      y_[index(spin.node)] = middle[1] + spin.radius * spoke[1];
    }
  }
  std::size_t moved() const { return spins_.size(); }

  // One diffusion step of the field: each element gets the mean of its nodes, then each node of an own element the mean
  // of the elements around it. The order of summation does not depend on the distribution.
  void diffuse() {
    for (std::size_t e = 0; e < element_nodes_.size(); ++e) {
      double sum = 0;
      for (const std::int32_t node : element_nodes_[e]) sum += value_[index(node)];
      mean_[e] = sum / 8;
    }
    for (std::size_t node = 0; node + 1 < begins_.size(); ++node) {
      if (begins_[node] == begins_[node + 1]) continue;
      double sum = 0;
      for (std::int32_t at = begins_[node]; at < begins_[node + 1]; ++at) sum += mean_[index(around_[index(at)])];
      value_[node] = sum / (begins_[node + 1] - begins_[node]);
    }
  }
  double additions() const { return static_cast<double>(8 * element_nodes_.size() + around_.size()); }

  // Returns whether this rank's elements and another rank's have the node in common. False for faces, because each face
  // belongs to one element.
  bool shares(const Sharing& one) const {
    if (one.entity & Sharing::face_bit) return false;
    const auto gear = static_cast<std::int64_t>(one.entity / Gear::nodes);
    const auto piece = std::ranges::lower_bound(pieces_, gear, {}, &Piece::gear);
    if (piece == pieces_.end() || piece->gear != gear) return false;
    bool ours = false, theirs = false;
    Gear::each_element_near(static_cast<int>(one.entity % Gear::nodes), 1, [&](int element) {
      ours = ours || piece->owners[index(element)] == rank_,
      theirs = theirs || piece->owners[index(element)] == one.rank;
    });
    return ours && theirs;
  }

  std::size_t bytes() const {
    std::size_t sum = (3 * value_.capacity() + z_.capacity() + mean_.capacity()) * sizeof(double);
    sum += element_nodes_.capacity() * sizeof element_nodes_[0];
    sum += (begins_.capacity() + around_.capacity()) * sizeof(std::int32_t);
    sum += spins_.capacity() * sizeof(Spin) + faces_.capacity() * sizeof(Face) + sharing_.capacity() * sizeof(Sharing);
    return sum + pieces_.size() * (sizeof(Piece) + (Gear::elements + Gear::nodes) * sizeof(std::int32_t));
  }

 private:
  struct Piece {
    std::int64_t gear;
    std::vector<int> owners;          // ranks that own its elements
    std::vector<std::int32_t> nodes;  // local numbers of its nodes; -1 for nodes that this rank does not have
  };
  struct Spin {
    double radius;
    std::int32_t node, piece;
    std::int16_t angle;
    bool forwards;
  };

  template <class Number>
  static std::size_t index(Number number) {
    return static_cast<std::size_t>(number);
  }

  void add_piece(std::int64_t gear, const Owner& owner) {
    Piece piece{gear, std::vector<int>(Gear::elements), std::vector<std::int32_t>(Gear::nodes, -1)};
    for (int element = 0; element < Gear::elements; ++element) piece.owners[index(element)] = owner(gear, element);
    const auto own = [&](int element) { return piece.owners[index(element)] == rank_; };
    std::vector<bool> touched(Gear::nodes), here(Gear::elements), has(Gear::nodes);
    for (int element = 0; element < Gear::elements; ++element) {
      if (!own(element)) continue;
      for (const int node : Gear::nodes_of_element(element)) touched[index(node)] = true;
    }
    for (int node = 0; node < Gear::nodes; ++node) {
      if (touched[index(node)]) Gear::each_element_near(node, 1, [&](int element) { here[index(element)] = true; });
    }
    std::vector<std::int32_t> local_elements(Gear::elements, -1);
    for (int element = 0; element < Gear::elements; ++element) {
      if (!here[index(element)]) continue;
      local_elements[index(element)] = static_cast<std::int32_t>(element_nodes_.size()), element_nodes_.emplace_back();
      own_elements_ += own(element);
      for (const int node : Gear::nodes_of_element(element)) has[index(node)] = true;
    }
    for (int node = 0; node < Gear::nodes; ++node)
      if (has[index(node)]) add_node(piece, node, touched[index(node)], local_elements);
    for (int element = 0; element < Gear::elements; ++element) {
      if (!here[index(element)]) continue;
      const std::array<int, 8> nodes = Gear::nodes_of_element(element);
      for (std::size_t i = 0; i < 8; ++i)
        element_nodes_[index(local_elements[index(element)])][i] = piece.nodes[index(nodes[i])];
    }
    for (int face = 0; face < Gear::faces; ++face) {
      if (!own(Gear::first_outer_element + face)) continue;
      Face& added = faces_.emplace_back(Face{static_cast<std::uint32_t>(gear), static_cast<std::uint32_t>(face), {}});
      const std::array<int, 4> nodes = Gear::nodes_of_face(face);
      for (std::size_t i = 0; i < 4; ++i) added.nodes[i] = piece.nodes[index(nodes[i])];
    }
    centres_.push_back(train_.centre(gear));
    pieces_.push_back(std::move(piece));
  }

  void add_node(Piece& piece, int node, bool touched, const std::vector<std::int32_t>& local_elements) {
    const auto local = static_cast<std::int32_t>(z_.size());
    piece.nodes[index(node)] = local;
    z_.push_back(train_.position(still_, piece.gear, node)[2]);
    int holder = INT32_MAX;
    std::vector<int>& others = others_;
    others.clear();
    Gear::each_element_near(node, 1, [&](int element) {
      const int owner = piece.owners[index(element)];
      holder = std::min(holder, owner);
      if (touched && owner != rank_) others.push_back(owner);
    });
    for (const int other : unique(others)) sharing_.push_back({Sharing::node(piece.gear, node), other});
    if (touched) {
      const std::size_t begin = around_.size();
      Gear::each_element_near(node, 1, [&](int element) { around_.push_back(local_elements[index(element)]); });
      std::sort(around_.begin() + static_cast<std::ptrdiff_t>(begin), around_.end());
    }
    begins_.push_back(static_cast<std::int32_t>(around_.size()));
    if (holder != rank_) return incoming_[holder].push_back(local);
    const int angle = node / (Gear::slices + 1) % Gear::around, layer = node / (Gear::slices + 1) / Gear::around;
    const double radius = Gear::inner_radius + (Gear::outer_radius - Gear::inner_radius) * layer / Gear::layers;
    const auto number = static_cast<std::int32_t>(pieces_.size());
    spins_.push_back({radius, local, number, static_cast<std::int16_t>(angle), train_.forwards(piece.gear)});
    // Another rank has this node if it owns an element with a node in common with an element around this node.
    others.clear();
    Gear::each_element_near(node, 2, [&](int element) {
      if (const int owner = piece.owners[index(element)]; owner != rank_) others.push_back(owner);
    });
    for (const int other : unique(others)) outgoing_[other].push_back(local);
  }

  static std::span<const int> unique(std::vector<int>& numbers) {
    std::ranges::sort(numbers);
    const auto rest = std::ranges::unique(numbers);
    return {numbers.begin(), rest.begin()};
  }

  const Train train_;
  const int rank_;
  const Turn still_{0};
  std::size_t own_elements_ = 0;
  std::vector<Piece> pieces_;  // of gears, ascending
  std::vector<Vector> centres_;
  std::vector<double> x_, y_, z_, value_;  // of each node
  std::vector<std::array<std::int32_t, 8>> element_nodes_;
  std::vector<double> mean_;                      // of each element
  std::vector<std::int32_t> begins_{0}, around_;  // elements around each node in CSR format; empty for ghosts
  std::vector<Spin> spins_;
  std::vector<Face> faces_;
  std::vector<Sharing> sharing_;
  Lists outgoing_, incoming_;
  std::vector<int> others_;
};

}  // namespace kiviat::app
