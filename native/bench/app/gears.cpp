// Gears: the geometric search of phdMesh. Gears turn against each other. Each step finds all pairs of near outer faces
// of different gears on all ranks, and shares found faces of other ranks for that step.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/app/checksummed_exchange.hpp"
#include "bench/app/face_search.hpp"
#include "bench/app/gear_mesh.hpp"
#include "bench/app/gear_replay.hpp"
#include "bench/app/gear_train.hpp"
#include "bench/app/hilbert.hpp"
#include "bench/app/process_grid.hpp"
#include "bench/memory.hpp"
#include "bench/npb/outcome.hpp"
#include "platform/clock.hpp"
#include "platform/compute.hpp"
#include "support/random.hpp"

using namespace kiviat;
using namespace kiviat::app;

namespace {

// --- messages, sent as bytes, so that a profiler can tell them from those of the harness
// ------------------------------

struct SentNode {
  Vector at;
  double value;
};
struct SentElement {
  std::int64_t number;
  std::array<SentNode, 8> nodes;
};
struct SentFace {  // a face sent to a rank that may have faces near it
  Box box;
  std::uint32_t gear, number;
};
struct SharedFace {  // a face with its nodes and their positions
  std::uint32_t gear, number;
  std::array<std::uint32_t, 4> nodes;
  std::array<Vector, 4> at;
};

constexpr Bounds gears_of_side{1, 1 << 15};

Train train_of(const Trial& t) {
  const bool strong = t.text("scaling") == "strong";
  const auto side = [&](const char* axis, std::int64_t if_strong, std::int64_t if_weak) {
    return integer_or(t, axis, strong ? if_strong : if_weak);
  };
  Train train{side("i", 4, 2), side("j", 8, 1), side("k", 4, 1)};
  if (!strong) {  // near-cubic, most ranks along z, independent of the MPI
    const auto [x, y, z] = ProcessGrid::of(t.ranks(), {1, 1, 1}, true)->ranks;
    train.i *= x, train.j *= y, train.k *= z;
  }
  const std::string size =
      std::to_string(train.i) + " x " + std::to_string(train.j) + " x " + std::to_string(train.k) + " gears";
  // Faces and nodes are numbered in 32 bits.
  constexpr std::int64_t most_gears = std::numeric_limits<std::uint32_t>::max() / Gear::nodes;
  if (train.i * train.j > most_gears || train.gears() > most_gears)
    throw UsageError(size + " make too many gears: give at most " + std::to_string(most_gears) + " over all ranks");
  if (train.elements() < t.ranks())
    throw Skip(size + " have " + std::to_string(train.elements()) + " elements, too few for " +
               std::to_string(t.ranks()) + " ranks");
  return train;
}

class Program {
 public:
  static PhaseNames phase_names() { return {{"rotation", "diffusion", "search"}, {"refresh", "exchange", "sharing"}}; }
  explicit Program(Trial& t)
      : t_(t),
        train_(train_of(t)),
        steps_(t.count_of("steps")),
        computed_(host::carries_payload()),
        ranks_(static_cast<std::size_t>(t.ranks())),
        exchange_(t.comm(), computed_) {
    const double within = 1e-3 * static_cast<double>(t.integer("within"));
    if (t.text("reach") == "share")
      reach_ = {0, static_cast<float>(within)};
    else
      reach_ = {static_cast<float>(within / 2), 0};
    // Sides of faces are shorter than 0.15.
    within_ = t.text("reach") == "share" ? 2 * 0.15 * within : within;
    const std::int64_t elements = (train_.elements() + t.ranks() - 1) / t.ranks();
    Trial::fitting(elements * static_cast<std::int64_t>(2 * sizeof(SentElement)), "B of elements");
    refuse_more_than_available(t, std::to_string(train_.gears()) + " gears", 1000.0 * static_cast<double>(elements));
  }

  void operator()() {
    if (!deal_out()) return;
    phases_.reset();
    // Results are stored for the checks between the measured steps. Storing takes no time in simulations, which make
    // all steps at once.
    const int at_once = t_.deterministic() ? steps_ : 1;
    double time_s = 0;
    for (int first = 0; first < steps_; first += at_once) {
      const auto steps = [&] {
        for (int step = first; step < first + at_once; ++step) {
          make(step);
          if (t_.deterministic()) keep(turn_of(step));
        }
      };
      time_s += t_.measured("gears", steps, false, first ? Trial::Repetition::last : Trial::Repetition::next);
      if (!t_.deterministic()) keep(turn_of(first));
    }
    tell(time_s);
    if (!computed_) return t_.confirm(true, ""), void();
    if (!check_came()) return;  // other checks depend on it
    check_messages();
    check_contacts();
    check_mesh();
  }

 private:
  enum Tag { elements_tag, nodes_tag, faces_tag, asked_tag, answered_tag };
  enum Phase { rotation, diffusion, search, refresh, exchange, sharing };

  std::vector<int> per_rank() const { return std::vector<int>(ranks_); }
  Turn turn_of(int step) const { return Turn(2 * std::numbers::pi * step / (steps_ - 1)); }

  // --- distribution of elements over ranks --------------------------------------------------------------------------

  // Distributes elements by number, searches contacts once, redistributes by position. Returns false if elements are
  // lost.
  bool deal_out() {
    const std::int64_t all = train_.elements(), ranks = t_.ranks();
    const std::int64_t first = (all * t_.rank() + ranks - 1) / ranks, end = (all * (t_.rank() + 1) + ranks - 1) / ranks;
    std::vector<std::int64_t> elements;
    for (std::int64_t element = first; element < end; ++element) elements.push_back(element);
    settle(elements, [=](std::int64_t gear, int element) {
      return static_cast<int>((gear * Gear::elements + element) * ranks / all);
    });
    mesh_->each_node([&](std::int32_t at, std::int64_t gear, int node, bool) {
      mesh_->set(at, mesh_->position(at), first_value(t_.seed(), gear, node));
    });
    const Turn still(0);
    begin_step(still);
    const double start_s = clock::now();
    find();
    initial_s_ = t_.worst(clock::now() - start_s);
    share();
    keep(still);
    first_ = tallies_.front();
    tallies_.clear(), shared_ = 0;
    return rebalance(still);
  }

  // Builds the mesh of the given elements, which this rank owns from now on.
  void settle(const std::vector<std::int64_t>& elements, const Owner& owner) {
    owner_ = owner;
    mesh_.emplace(train_, elements, t_.rank(), owner);
    own_.clear();
    for (const GearMesh::Face& face : mesh_->faces()) own_.add(face.gear, face.number, Box::nothing());
    const int mine = static_cast<int>(own_.fragments().size());
    counts_ = per_rank(), places_ = per_rank();
    MPI_Allgather(&mine, 1, MPI_INT, counts_.data(), 1, MPI_INT, t_.comm());
    int all = 0;
    for (std::size_t rank = 0; rank < ranks_; ++rank) places_[rank] = all, all += counts_[rank];
    std::vector<std::uint32_t> gears;
    for (const Faces::Fragment& fragment : own_.fragments()) gears.push_back(fragment.gear);
    fragment_gears_.resize(static_cast<std::size_t>(all)), fragment_boxes_.resize(static_cast<std::size_t>(all));
    MPI_Allgatherv(gears.data(), mine, MPI_UINT32_T, fragment_gears_.data(), counts_.data(), places_.data(),
                   MPI_UINT32_T, t_.comm());
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      counts_[rank] *= int{sizeof(Box)}, places_[rank] *= int{sizeof(Box)};
  }

  // Cuts the Hilbert curve through all elements into one section per rank, with equal numbers of elements. Each rank
  // then owns the elements whose centres lie on its section. Returns false if elements are lost.
  bool rebalance(const Turn& turn) {
    const double start_s = clock::now();
    const auto key = [this, turn](std::int64_t gear, int element) {
      const Vector at = train_.middle_of(turn, gear, element), lowest = Train::lowest_corner();
      std::array<std::uint32_t, 3> cell;
      for (std::size_t side = 0; side < 3; ++side)
        cell[side] = static_cast<std::uint32_t>((at[side] - lowest[side]) / train_.extent() * (1u << key_bits));
      return hilbert_index(cell, key_bits);
    };
    std::vector<std::uint64_t> keys;
    keys.reserve(mesh_->own_elements());
    mesh_->each_own_element([&](std::int64_t gear, int element, const auto&) { keys.push_back(key(gear, element)); });
    // Copies the cuts, because the meshes that use them outlive this function.
    const auto rank_of = [cuts = cuts_of(keys)](std::uint64_t element_key) {
      return static_cast<int>(std::ranges::upper_bound(cuts, element_key) - cuts.begin());
    };
    std::vector<std::size_t> counts(ranks_);
    for (const std::uint64_t one : keys) ++counts[static_cast<std::size_t>(rank_of(one))];
    std::vector<std::vector<SentElement>> outgoing(ranks_);
    for (std::size_t rank = 0; rank < ranks_; ++rank) outgoing[rank].reserve(counts[rank]);
    auto next = keys.begin();
    mesh_->each_own_element([&](std::int64_t gear, int element, const std::array<std::int32_t, 8>& nodes) {
      std::vector<SentElement>& to = outgoing[static_cast<std::size_t>(rank_of(*next++))];
      SentElement& sent = to.emplace_back(SentElement{gear * Gear::elements + element, {}});
      for (std::size_t i = 0; i < 8; ++i) sent.nodes[i] = {mesh_->position(nodes[i]), mesh_->value(nodes[i])};
    });
    std::vector<std::vector<SentElement>> incoming = exchange_.exchanged(outgoing, elements_tag);
    incoming[static_cast<std::size_t>(t_.rank())] = outgoing[static_cast<std::size_t>(t_.rank())];
    std::size_t come = 0;
    for (const std::vector<SentElement>& elements : incoming) come += elements.size();
    std::vector<SentElement> here;
    here.reserve(come);
    for (const std::vector<SentElement>& elements : incoming) here.insert(here.end(), elements.begin(), elements.end());
    std::ranges::sort(here, {}, &SentElement::number);
    moving_bytes_ =
        mesh_->bytes() + own_.bytes() + keys.size() * sizeof keys[0] + (keys.size() + 2 * come) * sizeof(SentElement);

    std::vector<std::int64_t> numbers;
    bool good = true;
    for (const SentElement& element : here) {
      const std::int64_t number = element.number;
      good = good && number >= 0 && number < train_.elements() && (numbers.empty() || numbers.back() < number) &&
             rank_of(key(number / Gear::elements, static_cast<int>(number % Gear::elements))) == t_.rank();
      numbers.push_back(number);
    }
    std::int64_t count = static_cast<std::int64_t>(here.size()), all = 0;
    MPI_Allreduce(&count, &all, 1, MPI_INT64_T, MPI_SUM, t_.comm());
    const double moved_s = clock::now();
    exchange_.add_checksums();
    outgoing = {}, incoming = {};
    if (!t_.confirm(good && all == train_.elements(), "elements are missing or on wrong ranks after the rebalance"))
      return false;
    const double settled_s = clock::now(), share = static_cast<double>(train_.elements()) / static_cast<double>(ranks_);
    imbalance_ = t_.worst(static_cast<double>(count)) / share;

    settle(numbers, [=](std::int64_t gear, int element) { return rank_of(key(gear, element)); });
    auto from = here.begin();
    mesh_->each_own_element([&](std::int64_t, int, const std::array<std::int32_t, 8>& nodes) {
      for (std::size_t i = 0; i < 8; ++i) mesh_->set(nodes[i], from->nodes[i].at, from->nodes[i].value);
      ++from;
    });
    rebalance_s_ = t_.worst(clock::now() - settled_s + moved_s - start_s);
    return true;
  }

  // Returns the keys that cut the curve into sections with equal numbers of elements, determined bit by bit from global
  // counts.
  std::vector<std::uint64_t> cuts_of(std::vector<std::uint64_t> keys) const {
    std::ranges::sort(keys);
    const std::size_t cuts = ranks_ - 1;
    std::vector<std::uint64_t> found(cuts);
    std::vector<std::int64_t> mine(cuts), below(cuts);
    for (int bit = 3 * key_bits - 1; bit >= 0 && cuts > 0; --bit) {
      for (std::size_t i = 0; i < cuts; ++i)
        mine[i] = std::ranges::lower_bound(keys, found[i] | std::uint64_t{1} << bit) - keys.begin();
      MPI_Allreduce(mine.data(), below.data(), static_cast<int>(cuts), MPI_INT64_T, MPI_SUM, t_.comm());
      // Finds the greatest key below which there are at most as many elements as the ranks before the cut should have.
      for (std::size_t i = 0; i < cuts; ++i)
        if (below[i] <= train_.elements() * static_cast<std::int64_t>(i + 1) / t_.ranks())
          found[i] |= std::uint64_t{1} << bit;
    }
    return found;
  }

  // --- a step -------------------------------------------------------------------------------------------------------

  void make(int step) {
    begin_step(turn_of(step));
    const double nodes = static_cast<double>(mesh_->nodes()), elements = static_cast<double>(mesh_->elements());
    phases_(diffusion, [&] {
      // Bytes: nodes and means are accessed repeatedly, and so are the index lists.
      work::run({.flops = mesh_->additions() + nodes + elements,
                 .bytes = 24 * nodes + 48 * elements + 4 * mesh_->additions()},
                [&] { mesh_->diffuse(); });
    });
    find();
    share();
  }

  void begin_step(const Turn& turn) {
    phases_(rotation, [&] {
      const double nodes = static_cast<double>(mesh_->moved());
      work::run({.flops = 4 * nodes, .bytes = 56 * nodes}, [&] { mesh_->rotate(turn); }, work::Kernel::needed);
    });
    phases_(refresh, [&] { refresh_ghosts(); });
  }

  // Sends positions and values from the owner of each node to all ranks that have it as a ghost.
  void refresh_ghosts() {
    for (const auto& [rank, nodes] : mesh_->incoming())
      exchange_.receive(nodes_in_[rank], nodes.size(), rank, nodes_tag);
    for (const auto& [rank, nodes] : mesh_->outgoing()) {
      std::vector<SentNode>& out = nodes_out_[rank];
      out.clear();
      for (const std::int32_t node : nodes) out.push_back({mesh_->position(node), mesh_->value(node)});
      exchange_.send(out, rank, nodes_tag);
    }
    exchange_.wait();
    for (const auto& [rank, nodes] : mesh_->incoming()) {
      const std::vector<SentNode>& in = nodes_in_[rank];
      exchange_.received(in, rank, nodes_tag);
      for (std::size_t i = 0; i < in.size(); ++i) mesh_->set(nodes[i], in[i].at, in[i].value);
    }
  }

  // Finds the contacts whose `domain` is a face of this rank.
  void find() {
    chosen_.clear(), found_ = {};
    phases_(search, [&] {
      const double faces = static_cast<double>(own_.size());
      work::run({.flops = 30 * faces, .bytes = 172 * faces}, [&] { enclose_faces(); }, work::Kernel::needed);
    });
    phases_(exchange, [&] { gather_fragments(); });
    phases_(search, [&] {
      Cost cost;  // set by the search, before simulated time passes
      work::run(cost, [&] { cost = choose_faces(); }, work::Kernel::needed);
    });
    phases_(exchange, [&] { exchange_faces(); });
    phases_(search, [&] {
      Cost cost;
      work::run(
          cost,
          [&] {
            found_ = search_(own_, others_);
            const double tested = static_cast<double>(search_.tested()),
                         looked_at = static_cast<double>(search_.selected());
            cost = {.flops = 6 * (tested + looked_at), .bytes = 28 * looked_at + 8 * static_cast<double>(found_.count)};
          },
          work::Kernel::needed);
    });
  }

  void enclose_faces() {
    own_.move([&](std::size_t at) {
      std::array<Vector, 4> corners;
      const GearMesh::Face& face = mesh_->faces()[at];
      for (std::size_t i = 0; i < 4; ++i) corners[i] = mesh_->position(face.nodes[i]);
      return reach_.around(box_of(corners));
    });
  }

  // Gathers the bounding boxes of all fragments.
  void gather_fragments() {
    std::vector<Box> mine;
    for (const Faces::Fragment& fragment : own_.fragments()) mine.push_back(fragment.box);
    blank(fragment_boxes_, fragment_boxes_.size());
    MPI_Allgatherv(mine.data(), bytes_of(mine), MPI_BYTE, fragment_boxes_.data(), counts_.data(), places_.data(),
                   MPI_BYTE, t_.comm());
  }

  // Selects own faces that overlap a fragment of another rank with a lower gear number, because that rank searches for
  // contacts with them.
  Cost choose_faces() {
    double looked_at = 0;
    std::vector<bool> taken(own_.size());
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      if (static_cast<int>(rank) == t_.rank()) continue;
      const auto begin = static_cast<std::size_t>(places_[rank]) / sizeof(Box);
      const auto end = begin + static_cast<std::size_t>(counts_[rank]) / sizeof(Box);
      std::vector<std::uint32_t> faces;
      for (std::size_t i = begin; i < end; ++i)
        for (const Faces::Fragment& fragment : own_.fragments()) {
          if (fragment.gear <= fragment_gears_[i] || !fragment.box.overlaps(fragment_boxes_[i])) continue;
          strip_.reserve(fragment.end - fragment.begin);
          select(own_, fragment.begin, fragment.end, fragment_boxes_[i], strip_);
          looked_at += fragment.end - fragment.begin;
          for (std::size_t at = 0; at < strip_.count; ++at)
            if (!taken[strip_.at[at]]) taken[strip_.at[at]] = true, faces.push_back(strip_.at[at]);
        }
      if (faces.empty()) continue;
      std::ranges::sort(faces);
      for (const std::uint32_t face : faces) taken[face] = false;
      chosen_.emplace(static_cast<int>(rank), std::move(faces));
    }
    const double pairs = static_cast<double>(fragment_boxes_.size() * own_.fragments().size());
    return {.flops = 6 * (looked_at + pairs),
            .bytes = 28 * looked_at + 24 * static_cast<double>(fragment_boxes_.size())};
  }

  void exchange_faces() {
    std::vector<int> counts = per_rank();
    for (const auto& [rank, faces] : chosen_) counts[static_cast<std::size_t>(rank)] = static_cast<int>(faces.size());
    const std::vector<int> come = exchange_.exchanged_counts(counts);
    faces_in_.clear(), faces_out_.clear();
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      if (come[rank] > 0)
        exchange_.receive(faces_in_[static_cast<int>(rank)], static_cast<std::size_t>(come[rank]),
                          static_cast<int>(rank), faces_tag);
    for (const auto& [rank, faces] : chosen_) {
      std::vector<SentFace>& faces_out = faces_out_[rank];
      for (const std::uint32_t face : faces)
        faces_out.push_back({own_.box(face), mesh_->faces()[face].gear, own_.number(face)});
      exchange_.send(faces_out, rank, faces_tag);
    }
    exchange_.wait();
    others_.clear(), other_numbers_.clear(), sources_.clear();
    for (const auto& [rank, faces] : faces_in_) {
      exchange_.received(faces, rank, faces_tag);
      sources_.push_back({rank, others_.size(), faces.size()});
      for (const SentFace& face : faces) {
        others_.add(face.gear, face.number, face.box);
        other_numbers_.push_back(number_of_face(face.gear, face.number));
      }
    }
  }

  // Shares the found faces of other ranks with their owners, then drops them.
  void share() {
    phases_(sharing, [&] {
      const std::vector<Sharing> before = mesh_->sharing();
      std::vector<Sharing> now = before;
      add_sharing(now);
      // Sorting takes about ten passes.
      work::run({.flops = 0, .bytes = 10 * static_cast<double>(now.size() * sizeof(Sharing))}, [&] {
        std::ranges::sort(now);
        const auto rest = std::ranges::unique(now);
        now.erase(rest.begin(), rest.end());
        std::erase_if(now, [&](const Sharing& one) { return !mesh_->shares(one); });
      });
      if (now != before) ++strayed_;
    });
  }

  // Stores the results of a step for the checks, outside the timed part.
  void keep(const Turn& turn) {
    Contacts contacts;
    contacts.count = found_.count;
    if (computed_) {
      contacts = {};
      for (const auto [domain, range] : found_) contacts.add(number_of(domain), number_of(range));
      gathered_.add(fragment_boxes_.data(), fragment_boxes_.size() * sizeof(Box));
      exchange_.add_checksums();
      check_faces(turn);
    }
    tallies_.push_back(contacts);
  }

  // Compares received boxes and faces with those computed from their numbers, and checks that their sender owns them.
  void check_faces(const Turn& turn) {
    const auto is_of = [&](std::uint32_t gear, std::uint32_t number, int rank) {
      return gear < train_.gears() && number < Gear::faces &&
             owner_(gear, Gear::first_outer_element + static_cast<int>(number)) == rank;
    };
    const auto expect = [&](bool good, std::uint32_t gear, std::uint32_t number, int rank, const char* what) {
      if (good || !wrong_face_.empty()) return;
      wrong_face_ = "face " + std::to_string(number) + " of gear " + std::to_string(gear) + ", sent by rank " +
                    std::to_string(rank) + ' ' + what + ", differs from the face as computed on this rank";
    };
    for (const auto& [rank, faces] : faces_in_)
      for (const auto& [box, gear, number] : faces)
        expect(is_of(gear, number, rank) &&
                   box == reach_.around(box_of(train_.corners(turn, gear, static_cast<int>(number)))),
               gear, number, rank, "for the search");
    for (const auto& [rank, faces] : answered_) {
      const std::vector<std::uint32_t>& asked = asked_.at(rank);
      const std::vector<SentFace>& offered = faces_in_.at(rank);
      for (std::size_t i = 0; i < faces.size(); ++i) {
        const auto& [gear, number, nodes, at] = faces[i];
        bool good = is_of(gear, number, rank) && gear == offered[asked[i]].gear && number == offered[asked[i]].number;
        if (good) {
          good = at == train_.corners(turn, gear, static_cast<int>(number));
          const std::array<int, 4> expected = Gear::nodes_of_face(static_cast<int>(number));
          for (std::size_t node = 0; node < 4; ++node)
            good = good && nodes[node] == static_cast<std::uint32_t>(expected[node]);
        }
        expect(good, gear, number, rank, "to be shared");
      }
    }
  }

  std::uint32_t number_of(std::uint32_t at) const {
    if (at < own_.size()) return number_of_face(mesh_->faces()[at].gear, own_.number(at));
    return other_numbers_[at - own_.size()];
  }

  void add_sharing(std::vector<Sharing>& now) {
    // Marks faces by their position in the message.
    std::vector<bool> near(others_.size());
    for (const Contact& contact : found_)
      if (contact.range >= own_.size()) near[contact.range - own_.size()] = true;
    asked_.clear(), asked_here_.clear(), answered_.clear(), answered_here_.clear();
    for (const auto& [rank, begin, count] : sources_) {
      std::vector<std::uint32_t>& faces = asked_[rank];
      for (std::size_t i = 0; i < count; ++i)
        if (near[begin + i]) faces.push_back(static_cast<std::uint32_t>(i));
    }
    for (const auto& [rank, faces] : chosen_) exchange_.receive(asked_here_[rank], faces.size(), rank, asked_tag);
    for (const auto& [rank, faces] : asked_) exchange_.send(faces, rank, asked_tag);
    exchange_.wait();
    std::size_t at = 0;
    for (auto& [rank, faces] : asked_here_) {
      faces.resize(exchange_.received_bytes(at++) / sizeof faces[0]);
      exchange_.received(faces, rank, asked_tag);
    }

    for (const auto& [rank, faces] : asked_)
      if (!faces.empty()) exchange_.receive(answered_[rank], faces.size(), rank, answered_tag);
    for (const auto& [rank, places] : asked_here_) {
      std::vector<SharedFace>& faces = answered_here_[rank];
      const std::vector<std::uint32_t>& chosen = chosen_.at(rank);
      for (const std::uint32_t place : places)
        faces.push_back(place < chosen.size() ? shared(mesh_->faces()[chosen[place]]) : SharedFace{});
      if (!faces.empty()) exchange_.send(faces, rank, answered_tag);
    }
    exchange_.wait();
    for (const auto& [rank, faces] : answered_here_) enter(faces, rank, now);
    for (const auto& [rank, faces] : answered_) {
      exchange_.received(faces, rank, answered_tag);
      shared_ += faces.size();
      enter(faces, rank, now);
    }
  }

  SharedFace shared(const GearMesh::Face& face) const {
    SharedFace whole{face.gear, face.number, {}, {}};
    const std::array<int, 4> nodes = Gear::nodes_of_face(static_cast<int>(face.number));
    for (std::size_t i = 0; i < 4; ++i)
      whole.nodes[i] = static_cast<std::uint32_t>(nodes[i]), whole.at[i] = mesh_->position(face.nodes[i]);
    return whole;
  }
  static void enter(const std::vector<SharedFace>& faces, int rank, std::vector<Sharing>& now) {
    for (const SharedFace& face : faces) {
      now.push_back({Sharing::face(face.gear, static_cast<int>(face.number)), rank});
      for (const std::uint32_t node : face.nodes)
        now.push_back({Sharing::node(face.gear, static_cast<int>(node)), rank});
    }
  }

  // --- results ------------------------------------------------------------------------------------------------------

  void tell(double time_s) {
    const double steps = steps_, faces = static_cast<double>(train_.faces());
    const auto per_step = [&](double seconds) { return t_.worst(seconds) / steps; };
    t_.report("rate", faces * steps / time_s);
    t_.report("time", time_s);
    t_.report("search_time", per_step(phases_.spent(search) + phases_.spent(exchange)));
    t_.report("ghosting_time", per_step(phases_.spent(refresh) + phases_.spent(sharing)));
    t_.report("diffusion_time", per_step(phases_.spent(diffusion)));
    t_.report("first_search_time", initial_s_);
    t_.report("rebalance_time", rebalance_s_);
    phases_.tell(t_);

    // Sums the results of all steps over all ranks.
    std::vector<std::uint64_t> mine{first_.count, first_.sum};
    for (const Contacts& step : tallies_) mine.insert(mine.end(), {step.count, step.sum});
    mine.push_back(shared_);
    std::vector<std::uint64_t> all(mine.size());
    MPI_Allreduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_UINT64_T, MPI_SUM, t_.comm());
    std::uint64_t contacts = 0, sum = 0;
    for (std::size_t at = 2; at + 2 < all.size(); at += 2) contacts += all[at], sum = mix(sum + all[at + 1]);
    repeated_ = all[0] == all[2] && all[1] == all[3];
    t_.note("gears", std::to_string(train_.gears()));
    t_.note("train", std::to_string(train_.i) + " x " + std::to_string(train_.j) + " x " + std::to_string(train_.k));
    t_.number("faces", train_.faces());
    t_.note("faces", std::to_string(train_.faces()));
    t_.note("elements", std::to_string(train_.elements()));
    t_.note("contacts", std::to_string(contacts) + " in " + std::to_string(steps_) + " steps");
    t_.note("shared faces", std::to_string(all.back()));
    char words[160];
    std::snprintf(words, sizeof words, "%.4f of the mean", imbalance_);
    t_.note("most elements", words);
    if (!computed_) return;
    std::snprintf(words, sizeof words, "%016llx", static_cast<unsigned long long>(sum));
    t_.note("checksum", words);
    const double of_face = 1 / static_cast<double>(std::max<std::size_t>(own_.size(), 1));
    const auto mesh = static_cast<double>(mesh_->bytes());
    const auto of_search = static_cast<double>(own_.bytes() + others_.bytes() + search_.bytes());
    std::snprintf(words, sizeof words, "%.0f B for each face: mesh %.0f, search %.0f; in the rebalance %.0f (rank 0)",
                  (mesh + of_search) * of_face, mesh * of_face, of_search * of_face,
                  static_cast<double>(moving_bytes_) * of_face);
    t_.note("memory", words);
  }

  // --- verification -------------------------------------------------------------------------------------------------

  // Received faces must be those of their owners.
  bool check_came() { return t_.confirm(wrong_face_.empty(), wrong_face_); }

  // Checksums of received and sent messages must agree, and fragment boxes must be equal on all ranks.
  void check_messages() {
    t_.confirm(exchange_.all_arrived(), "received messages differ from what was sent");
    const std::uint64_t same[2] = {gathered_.sum(), ~gathered_.sum()};
    std::uint64_t most[2];
    MPI_Allreduce(same, most, 2, MPI_UINT64_T, MPI_MAX, t_.comm());
    t_.confirm(most[0] == same[0] && most[1] == same[1], "the bounding boxes of fragments differ between ranks");
  }

  // Each step must find the same contacts as a search without ranks; some steps are also compared with a test of all
  // pairs.
  void check_contacts() {
    ContactReplay replay(train_, reach_, within_, mesh_->faces());
    const auto any = static_cast<int>(random_at(t_.seed(), 0) % static_cast<std::uint64_t>(steps_));
    std::string wrong =
        repeated_ ? "" : "the first step, in which nothing has moved, found other contacts than the initial search";
    for (int step = 0; step < steps_; ++step) {
      const Turn turn = turn_of(step);
      const Contacts& found = tallies_[static_cast<std::size_t>(step)];
      const auto compare = [&](const Contacts& expected, const char* by) {
        if (found == expected || !wrong.empty()) return;
        wrong = "step " + std::to_string(step) + " found " + std::to_string(found.count) + " contacts, not the " +
                std::to_string(expected.count) + " found " + by;
      };
      compare(replay.searched(turn), "without ranks");
      if (step == 0 || step == any || step + 1 == steps_)
        compare(replay.compared(turn), "by comparing all faces with all");
    }
    t_.confirm(wrong.empty(), wrong);
  }

  // Nodes must be at the initial positions given by the geometry; the field must be bitwise equal for any distribution
  // of elements; and after a step nothing may remain shared.
  void check_mesh() {
    const Turn first(0), last = turn_of(steps_ - 1);
    double furthest = 0;
    std::string wrong;
    if (strayed_ > 0)
      wrong = "in " + std::to_string(strayed_) + " steps the ranks shared different faces before and after";
    std::int64_t replayed = -1;
    std::vector<double> values;
    mesh_->each_node([&](std::int32_t at, std::int64_t gear, int node, bool touched) {
      const Vector here = mesh_->position(at), begin = train_.position(first, gear, node);
      const Vector end = train_.position(last, gear, node);
      for (std::size_t side = 0; side < 3; ++side) {
        const double off = std::abs(here[side] - begin[side]);
        furthest = std::isnan(off) ? INFINITY : std::max(furthest, off);
      }
      const std::string name = "node " + std::to_string(node) + " of gear " + std::to_string(gear);
      if (here != end && wrong.empty()) wrong = name + " is at a wrong position after the last step";
      if (!touched) return;
      if (replayed != gear) values = diffused(t_.seed(), replayed = gear, steps_);
      const double value = mesh_->value(at), expected = values[static_cast<std::size_t>(node)];
      if (value != expected && wrong.empty()) {
        char numbers[80];
        std::snprintf(numbers, sizeof numbers, " is %.17g, not %.17g", value, expected);
        wrong = "the field of " + name + numbers;
      }
    });
    t_.report("deviation", t_.worst(furthest));
    if (wrong.empty() && !(furthest <= rounding * train_.extent()))
      wrong = "nodes do not return to their initial positions in the last step";
    t_.confirm(wrong.empty(), wrong);
  }

  static constexpr int key_bits = 16;
  static constexpr double rounding = 1e-14;

  // Sender of a message with faces, and their range in others_.
  struct Source {
    int rank;
    std::size_t begin, count;
  };

  Trial& t_;
  Train train_;
  int steps_;
  bool computed_;
  std::size_t ranks_;
  Reach reach_;
  double within_;  // distance below which faces are near, along each side
  std::optional<GearMesh> mesh_;
  Owner owner_;
  Faces own_, others_;
  std::vector<std::uint32_t> other_numbers_;
  std::vector<Source> sources_;
  FaceSearch search_;
  FaceSearch::Found found_{};
  std::vector<int> counts_, places_;  // bytes and offsets of the fragment boxes of each rank
  std::vector<std::uint32_t> fragment_gears_;
  std::vector<Box> fragment_boxes_;
  std::map<int, std::vector<std::uint32_t>> chosen_;  // own faces selected for each rank
  Strip strip_;
  std::map<int, std::vector<SentNode>> nodes_in_, nodes_out_;
  std::map<int, std::vector<SentFace>> faces_in_, faces_out_;
  std::map<int, std::vector<std::uint32_t>> asked_,
      asked_here_;  // faces requested from and by other ranks, by position in the message
  std::map<int, std::vector<SharedFace>> answered_, answered_here_;
  ChecksummedExchange exchange_;
  Checksum gathered_;
  Contacts first_;
  std::vector<Contacts> tallies_;  // contacts of each step
  std::uint64_t shared_ = 0, strayed_ = 0;
  std::string wrong_face_;        // first error found
  std::size_t moving_bytes_ = 0;  // peak memory of the rebalance
  bool repeated_ = false;
  double initial_s_ = 0, rebalance_s_ = 0, imbalance_ = 1;
  npb::Phases phases_{phase_names()};
};

}  // namespace

static void gears(Trial& t) {
  Program program(t);
  t.study(std::ref(program));
}

BENCHMARK(gears,
          .summary = "Gears: geometric search for near faces of turning gears, in every step, on all ranks",
          .source = "Mantevo phdMesh, its test Gears; M. Heroux et al., Improving performance via mini-applications, "
                    "SAND2009-5574",
          .aka = {"phdMesh"},
          .sampling = Sampling::study,
          .ranks = at_least(1),
          .sized = false,
          .buffers = false,
          .reports = {{"rate", "1/s", "higher", "outer faces of all gears times steps, per second"},
                      {"time", "s", "lower", "time of all steps, on the slowest rank"},
                      {"search_time", "s", "lower", "time of the search per step, on the slowest rank: computing boxes, exchanging them, searching"},
                      {"ghosting_time", "s", "lower",
                       "of a step: others' nodes, and faces that are shared and dropped; the slowest rank's"},
                      {"diffusion_time", "s", "lower", "time of one diffusion step of the field, on the slowest rank"},
                      {"first_search_time", "s", "lower", "time of the search before the rebalance, on the slowest rank"},
                      {"rebalance_time", "s", "lower", "time of the rebalance, from computing keys on the Hilbert curve to the new mesh, on the slowest rank"},
                      {"deviation", "1", "lower", "largest distance of a node from its initial position after the last step", true}},
          .nominal_s = 4,
          .axes = {{"i", "auto", "gears", "gears along x: per rank, or in total with scaling=strong; auto: 2, or 4", {"auto", gears_of_side}},
                   {"j", "auto", "gears", "along y, likewise; auto: 1, or 8", {"auto", gears_of_side}},
                   {"k", "auto", "gears", "along z, likewise; auto: 1, or 4", {"auto", gears_of_side}},
                   {"scaling", "weak", "", "weak: i x j x k per rank; strong: i x j x k in total", {"weak", "strong"}},
                   {"steps", "121", "steps", "number of steps, in which the gears turn once", Bounds{3, 10'000}},
                   {"reach", "distance", "",
                    "distance: faces are near if their boxes are at most `within` apart along each side; share: if they overlap when "
                    "each is enlarged by this share of its longest side, as in phdMesh",
                    {"distance", "share"}},
                   {"within", "250", "1/1000", "threshold for near faces: a length with distance, a share of the longest side with share", Bounds{1, 1000}}},
          .section = "applications",
          .place = 2,
          .problem = ProblemSize{.counts = "faces", .words = "{,} faces"},
          .phases = Program::phase_names());
