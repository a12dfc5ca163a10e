// Gears: geometry, Hilbert's curve, ownership and sharing, and the search compared with testing all pairs.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "bench/app/checksummed_exchange.hpp"
#include "bench/app/face_search.hpp"
#include "bench/app/gear_mesh.hpp"
#include "bench/app/gear_replay.hpp"
#include "bench/app/gear_train.hpp"
#include "bench/app/hilbert.hpp"
#include "ranked_test.hpp"
#include "support/random.hpp"

using namespace kiviat;
using namespace kiviat::app;

namespace {

constexpr Reach quarter{0.125f, 0}, as_phdmesh{0, 0.25f};

double distance(const Vector& a, const Vector& b) { return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]); }

// Random boxes with sides up to half a unit, in a cube of the given side; `faces` for each gear.
Faces scattered(std::uint64_t seed, std::uint32_t first_gear, std::uint32_t gears, std::uint32_t faces, double side) {
  Faces all;
  std::uint64_t at = 0;
  const auto number = [&] { return static_cast<float>(centred(random_at(seed, at++)) + 0.5); };
  for (std::uint32_t gear = first_gear; gear < first_gear + gears; ++gear)
    for (std::uint32_t face = 0; face < faces; ++face) {
      Box box;
      for (std::size_t way = 0; way < 3; ++way) {
        box.low[way] = static_cast<float>(side) * number();
        box.high[way] = box.low[way] + number() / 2;
      }
      all.add(gear, face, box);
    }
  return all;
}

using Pairs = std::multiset<std::pair<std::uint32_t, std::uint32_t>>;

std::vector<std::uint32_t> gears_of(const Faces& faces) {
  std::vector<std::uint32_t> gears(faces.size());
  for (const Faces::Fragment& fragment : faces.fragments())
    std::fill(gears.begin() + fragment.begin, gears.begin() + fragment.end, fragment.gear);
  return gears;
}

Pairs compared(const Faces& own, const Faces& others) {
  Pairs pairs;
  const std::vector<std::uint32_t> own_gears = gears_of(own), other_gears = gears_of(others);
  const auto count = static_cast<std::uint32_t>(own.size());
  for (std::uint32_t domain = 0; domain < count; ++domain) {
    for (std::uint32_t range = 0; range < count; ++range)
      if (own_gears[domain] < own_gears[range] && own.box(domain).overlaps(own.box(range)))
        pairs.insert({domain, range});
    for (std::uint32_t range = 0; range < others.size(); ++range)
      if (own_gears[domain] < other_gears[range] && own.box(domain).overlaps(others.box(range)))
        pairs.insert({domain, count + range});
  }
  return pairs;
}

Pairs searched(FaceSearch& search, const Faces& own, const Faces& others) {
  Pairs pairs;
  for (const auto& [domain, range] : search(own, others)) pairs.insert({domain, range});
  return pairs;
}

// The meshes of all ranks, simulated in one process, for distributions of elements that give parts of many shapes.
struct Dealt {
  Train train;
  std::vector<GearMesh> meshes;

  Dealt(const Train& dealt, int ranks, const Owner& owner) : train(dealt) {
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<std::int64_t> elements;
      for (std::int64_t element = 0; element < train.elements(); ++element)
        if (owner(element / Gear::elements, static_cast<int>(element % Gear::elements)) == rank)
          elements.push_back(element);
      meshes.emplace_back(train, elements, rank, owner);
    }
  }
};

Owner scattered_owner(int ranks) {
  return [ranks](std::int64_t gear, int element) {
    const std::uint64_t number = random_at(5, static_cast<std::uint64_t>(gear * 40 + element / 50));
    return static_cast<int>(number % static_cast<std::uint64_t>(ranks));
  };
}

}  // namespace

RANKED_TEST(a_gear_has_the_elements_faces_and_sizes_of_its_definition, 1) {
  EXPECT(Gear::elements == 1984);
  EXPECT(Gear::faces == 496);
  const Train train{4, 8, 4};
  EXPECT(train.gears() == 128);
  const Turn turn(0.3);
  double least = 9, most = 0, low = 9, high = -9;
  for (int node = 0; node < Gear::nodes; ++node) {
    const Vector at = train.position(turn, 21, node), middle = train.centre(21);
    const double radius = std::hypot(at[0] - middle[0], at[1] - middle[1]);
    least = std::min(least, radius), most = std::max(most, radius);
    low = std::min(low, at[2] - middle[2]), high = std::max(high, at[2] - middle[2]);
  }
  EXPECT(std::abs(least - 0.6) < 1e-12);
  EXPECT(std::abs(most - 1.001) < 1e-12);
  EXPECT(std::abs(low + 0.4) < 1e-12);
  EXPECT(std::abs(high - 0.4) < 1e-12);
}

// Each gear touches up to three others of its plane, which turn the other way.
RANKED_TEST(gears_mesh_with_gears_that_turn_the_other_way, 1) {
  const Train train{4, 8, 2};
  EXPECT(train.centre(0)[0] == 1);
  EXPECT(train.centre(1)[0] == 3);
  EXPECT(train.centre(4)[0] == 0);
  EXPECT(train.centre(5)[0] == 4);
  EXPECT(!train.forwards(0));
  EXPECT(train.forwards(1));
  std::map<std::int64_t, int> touching;
  double nearest = 9;
  for (std::int64_t one = 0; one < train.gears(); ++one)
    for (std::int64_t other = 0; other < train.gears(); ++other) {
      const double away = distance(train.centre(one), train.centre(other));
      if (one == other) continue;
      if (train.centre(one)[2] == train.centre(other)[2]) nearest = std::min(nearest, away);
      if (std::abs(away - 2) > 1e-9 || train.centre(one)[2] != train.centre(other)[2]) continue;
      ++touching[one];
      EXPECT(train.forwards(one) != train.forwards(other));
    }
  EXPECT(std::abs(nearest - 2) < 1e-12);
  int most = 0;
  for (const auto& [gear, count] : touching) most = std::max(most, count);
  EXPECT(most == 3);
  EXPECT(static_cast<std::int64_t>(touching.size()) == train.gears());
}

RANKED_TEST(elements_around_a_node_are_those_that_have_it, 1) {
  std::map<int, std::set<int>> having, near;
  for (int element = 0; element < Gear::elements; ++element)
    for (const int node : Gear::nodes_of_element(element)) having[node].insert(element);
  int differ = 0;
  for (int node = 0; node < Gear::nodes; ++node) {
    std::set<int> found, wider, expected;
    Gear::each_element_near(node, 1, [&](int element) { found.insert(element); });
    differ += found != having[node];
    Gear::each_element_near(node, 2, [&](int element) { wider.insert(element); });
    for (const int element : found)
      for (const int other : Gear::nodes_of_element(element))
        expected.insert(having[other].begin(), having[other].end());
    differ += wider != expected;
  }
  EXPECT(differ == 0);
}

// Gears that each_near() skips have no faces in reach.
RANKED_TEST(no_gear_that_can_come_near_is_left_out, 1) {
  const Train train{4, 4, 3};
  for (const double within : {0.05, 0.25, 1.0}) {
    const Reach reach{static_cast<float>(within / 2), 0};
    int missed = 0;
    for (std::int64_t gear = 0; gear < train.gears(); ++gear) {
      std::set<std::int64_t> near;
      train.each_higher_neighbour(gear, within, [&](std::int64_t other) { near.insert(other); });
      for (std::int64_t other = gear + 1; other < train.gears(); ++other) {
        Box boxes[2] = {Box::nothing(), Box::nothing()};
        for (int which = 0; which < 2; ++which) {
          const Vector middle = train.centre(which ? other : gear);
          const auto half = [](std::size_t side) { return side == 2 ? Gear::half_width : Gear::outer_radius; };
          for (std::size_t side = 0; side < 3; ++side) {
            boxes[which].low[side] = static_cast<float>(middle[side] - half(side)) - reach.length;
            boxes[which].high[side] = static_cast<float>(middle[side] + half(side)) + reach.length;
          }
        }
        missed += boxes[0].overlaps(boxes[1]) && !near.contains(other);
      }
    }
    EXPECT(missed == 0);
  }
}

RANKED_TEST(hilberts_curve_visits_each_cell_once_and_goes_from_neighbour_to_neighbour, 1) {
  for (const int bits : {1, 2, 4}) {
    const std::uint32_t side = 1u << bits;
    std::vector<std::array<std::uint32_t, 3>> cells(std::size_t{side} * side * side, {99, 99, 99});
    bool within = true;
    for (std::uint32_t x = 0; x < side; ++x)
      for (std::uint32_t y = 0; y < side; ++y)
        for (std::uint32_t z = 0; z < side; ++z) {
          const std::uint64_t at = hilbert_index({x, y, z}, bits);
          within = within && at < cells.size() && cells[at][0] == 99;
          if (at < cells.size()) cells[at] = {x, y, z};
        }
    EXPECT(within);
    int apart = 0;
    for (std::size_t i = 1; i < cells.size(); ++i) {
      int steps = 0;
      for (std::size_t way = 0; way < 3; ++way)
        steps += std::abs(static_cast<int>(cells[i][way]) - static_cast<int>(cells[i - 1][way]));
      apart += steps != 1;
    }
    EXPECT(apart == 0);
  }
}

RANKED_TEST(the_search_finds_what_comparing_all_with_all_finds, 1) {
  FaceSearch search;
  for (const std::uint64_t seed : {1, 2, 3})
    for (const double side : {1.0, 3.0, 30.0}) {
      const Faces own = scattered(seed, 2, 6, 37, side), others = scattered(seed + 10, 0, 9, 21, side), none;
      EXPECT((searched(search, own, others) == compared(own, others)));
      EXPECT((searched(search, own, none) == compared(own, none)));
      EXPECT((searched(search, none, others).empty()));
      if (side < 3) EXPECT(compared(own, others).size() > 1000);
    }
}

RANKED_TEST(boxes_that_touch_overlap_and_those_of_garbled_messages_find_nothing, 1) {
  FaceSearch search;
  Faces own, others;
  own.add(0, 0, {{0, 0, 0}, {1, 1, 1}});
  others.add(1, 0, {{1, 1, 1}, {2, 2, 2}});
  others.add(1, 1, {{1.0001f, 1, 1}, {2, 2, 2}});
  others.add(2, 0, {{NAN, NAN, NAN}, {NAN, NAN, NAN}});
  others.add(3, 0, {{0, NAN, 0}, {1, 1, 1}});
  EXPECT((searched(search, own, others) == Pairs{{0, 1}}));
}

// Contacts must equal those of complete trains at several angles, and those of the definition in double precision if
// rounding does not decide.
RANKED_TEST(contacts_of_gears_are_those_of_their_definition, 1) {
  const Train train{3, 2, 2};
  std::vector<GearMesh::Face> all;
  for (std::uint32_t gear = 0; gear < train.gears(); ++gear)
    for (std::uint32_t face = 0; face < Gear::faces; ++face) all.push_back({gear, face, {}});
  for (const auto& [reach, within] : {std::pair{quarter, 0.25}, std::pair{as_phdmesh, 0.075}}) {
    ContactReplay replay(train, reach, within, all);
    for (const double angle : {0.0, 0.05, 1.0, 6.2}) {
      const Turn turn(angle);
      const Contacts found = replay.searched(turn);
      EXPECT(found == replay.compared(turn));
      EXPECT(found.count > 300);
    }
  }
  const Turn turn(0.7);
  std::uint64_t sure = 0, possible = 0;
  std::vector<std::array<Vector, 4>> at;
  for (const GearMesh::Face& face : all) at.push_back(train.corners(turn, face.gear, static_cast<int>(face.number)));
  for (std::size_t one = 0; one < all.size(); ++one)
    for (std::size_t other = one + 1; other < all.size(); ++other) {
      if (all[one].gear == all[other].gear) continue;
      double gap = -9;
      for (std::size_t side = 0; side < 3; ++side) {
        const auto by_side = [side](const Vector& a, const Vector& b) { return a[side] < b[side]; };
        const auto [low, high] = std::ranges::minmax_element(at[one], by_side);
        const auto [low2, high2] = std::ranges::minmax_element(at[other], by_side);
        gap = std::max({gap, (*low2)[side] - (*high)[side], (*low)[side] - (*high2)[side]});
      }
      sure += gap < 0.25 - 1e-5, possible += gap < 0.25 + 1e-5;
    }
  const Contacts found = ContactReplay(train, quarter, 0.25, all).searched(turn);
  EXPECT(sure <= found.count);
  EXPECT(found.count <= possible);
  EXPECT(possible - sure < 10);
}

// The order of messages must not matter.
RANKED_TEST(checksums_depend_on_bytes_and_on_ranks_and_tag, 1) {
  const std::vector<std::uint32_t> some = {1, 2, 3}, others = {1, 2, 4};
  using Sent = std::pair<std::vector<std::uint32_t>, Checksum::Way>;
  const auto checksum_of = [](std::initializer_list<Sent> messages) {
    Checksum checksum;
    for (const auto& [words, way] : messages) checksum.add(words.data(), words.size() * sizeof words[0], way);
    return checksum.sum();
  };
  const std::uint64_t both = checksum_of({{some, {0, 1, 2}}, {others, {0, 2, 2}}});
  EXPECT(both == checksum_of({{others, {0, 2, 2}}, {some, {0, 1, 2}}}));
  EXPECT(both != checksum_of({{others, {0, 1, 2}}, {some, {0, 2, 2}}}));  // two messages swapped
  EXPECT(both != checksum_of({{some, {1, 0, 2}}, {others, {0, 2, 2}}}));
  EXPECT(both != checksum_of({{some, {0, 1, 3}}, {others, {0, 2, 2}}}));
  EXPECT(both != checksum_of({{some, {0, 1, 2}}}));
  EXPECT(checksum_of({{{}, {0, 1, 2}}}) != checksum_of({}));  // an empty message counts too
}

RANKED_TEST(each_sum_over_contacts_is_of_its_contacts, 1) {
  Contacts one, other, swapped;
  one.add(3, 4), one.add(5, 6);
  other.add(5, 6), other.add(3, 4);
  swapped.add(3, 6), swapped.add(5, 4);
  EXPECT(one == other);
  EXPECT(!(one == swapped));
}

// For parts of any shape, the data that a rank expects from another is the data that the other sends, in the same
// order.
RANKED_TEST(ranks_agree_on_what_they_share, 1) {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    const Dealt dealt({2, 1, 1}, ranks, scattered_owner(ranks));
    std::size_t own = 0, faces = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const GearMesh& mesh = dealt.meshes[static_cast<std::size_t>(rank)];
      own += mesh.own_elements(), faces += mesh.faces().size();
      std::map<std::int32_t, std::pair<std::int64_t, int>> names;
      mesh.each_node([&](std::int32_t at, std::int64_t gear, int node, bool) { names[at] = {gear, node}; });
      EXPECT(names.size() == mesh.nodes());
      std::size_t incoming = 0;
      for (const auto& [holder, nodes] : mesh.incoming()) {
        incoming += nodes.size();
        const GearMesh& other = dealt.meshes[static_cast<std::size_t>(holder)];
        std::map<std::int32_t, std::pair<std::int64_t, int>> theirs;
        other.each_node([&](std::int32_t at, std::int64_t gear, int node, bool) { theirs[at] = {gear, node}; });
        const auto sent = other.outgoing().find(rank);
        EXPECT((sent != other.outgoing().end() && sent->second.size() == nodes.size()));
        bool same = true;
        for (std::size_t i = 0; same && i < nodes.size(); ++i) same = names[nodes[i]] == theirs[sent->second[i]];
        EXPECT(same);
      }
      EXPECT(incoming + mesh.moved() == mesh.nodes());
      std::size_t outgoing = 0;
      for (const auto& [to, nodes] : mesh.outgoing()) {
        const auto& of_other = dealt.meshes[static_cast<std::size_t>(to)].incoming();
        outgoing += of_other.contains(rank) && of_other.at(rank).size() == nodes.size();
      }
      EXPECT(outgoing == mesh.outgoing().size());
      bool mutual = true, kept = true;
      for (const Sharing& one : mesh.sharing()) {
        const auto& theirs = dealt.meshes[static_cast<std::size_t>(one.rank)].sharing();
        mutual = mutual && std::ranges::binary_search(theirs, Sharing{one.entity, rank});
        kept = kept && mesh.shares(one);
      }
      EXPECT(mutual);
      EXPECT(kept);
      EXPECT(!mesh.shares({Sharing::face(0, 3), (rank + 1) % ranks}));
      EXPECT(!mesh.shares({Sharing::node(7, 3), (rank + 1) % ranks}));
      EXPECT((ranks == 1) == mesh.sharing().empty());
    }
    EXPECT(own == 2 * Gear::elements);
    EXPECT(faces == 2 * Gear::faces);
  }
}

// With exchanged values the field is bitwise equal on any number of ranks.
RANKED_TEST(the_field_does_not_depend_on_who_has_the_elements, 1) {
  constexpr int steps = 5;
  for (const int ranks : {1, 2, 3, 4, 7}) {
    Dealt dealt({1, 2, 1}, ranks, scattered_owner(ranks));
    for (GearMesh& mesh : dealt.meshes)
      mesh.each_node([&](std::int32_t at, std::int64_t gear, int node, bool) {
        mesh.set(at, mesh.position(at), first_value(3, gear, node));
      });
    for (int step = 0; step < steps; ++step) {
      for (GearMesh& mesh : dealt.meshes) mesh.rotate(Turn(0.1 * step));
      for (std::size_t rank = 0; rank < dealt.meshes.size(); ++rank)
        for (const auto& [holder, nodes] : dealt.meshes[rank].incoming()) {
          const GearMesh& from = dealt.meshes[static_cast<std::size_t>(holder)];
          const std::vector<std::int32_t>& sent = from.outgoing().at(static_cast<int>(rank));
          for (std::size_t i = 0; i < nodes.size(); ++i)
            dealt.meshes[rank].set(nodes[i], from.position(sent[i]), from.value(sent[i]));
        }
      for (GearMesh& mesh : dealt.meshes) mesh.diffuse();
    }
    int wrong = 0, misplaced = 0;
    const Turn turn(0.1 * (steps - 1));
    for (const GearMesh& mesh : dealt.meshes)
      for (const std::int64_t gear : mesh.gears()) {
        const std::vector<double> expected = diffused(3, gear, steps);
        mesh.each_node([&](std::int32_t at, std::int64_t of, int node, bool touched) {
          if (of != gear) return;
          wrong += touched && mesh.value(at) != expected[static_cast<std::size_t>(node)];
          misplaced += mesh.position(at) != dealt.train.position(turn, gear, node);
        });
      }
    EXPECT(wrong == 0);
    EXPECT(misplaced == 0);
  }
}

// Diffusion takes means, so a constant field stays constant, and no value leaves the initial bounds.
RANKED_TEST(a_field_that_diffuses_stays_within_its_bounds, 1) {
  const std::vector<double> before = diffused(1, 0, 0), after = diffused(1, 0, 50);
  const auto [low, high] = std::ranges::minmax(before);
  const auto [low_after, high_after] = std::ranges::minmax(after);
  EXPECT((low <= low_after && high_after <= high));
  EXPECT(high_after - low_after < 0.2 * (high - low));
}
