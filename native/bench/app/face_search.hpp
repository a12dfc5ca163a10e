// Search of Gears: finds pairs of faces of different gears whose boxes overlap. Boxes have two levels: faces, and
// fragments (the faces of one gear on a rank). Overlapping fragments are found by a sort and sweep along x (M. Shamos
// and D. Hoey, "Geometric intersection problems", FOCS 1976, section 4). In two overlapping fragments, the faces that
// overlap the other fragment's box are tested against each other with SIMD. A tree would not pay, because fragments are
// small and faces move in every step.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "bench/app/vector.hpp"
#include "kernels/target_clones.hpp"

namespace kiviat::app {

struct Box {
  std::array<float, 3> low, high;

  static constexpr Box nothing() {
    constexpr float far = std::numeric_limits<float>::infinity();
    return {{far, far, far}, {-far, -far, -far}};
  }
  void add(const Box& other) {
    for (std::size_t side = 0; side < 3; ++side)
      low[side] = std::min(low[side], other.low[side]), high[side] = std::max(high[side], other.high[side]);
  }
  // Returns whether the boxes overlap or touch.
  bool overlaps(const Box& other) const {
    bool all = true;
    for (std::size_t side = 0; side < 3; ++side)
      all = all && low[side] <= other.high[side] && other.low[side] <= high[side];
    return all;
  }
  bool operator==(const Box&) const = default;
};

// The smallest box around the corners of a face.
inline Box box_of(const std::array<Vector, 4>& corners) {
  Box box = Box::nothing();
  for (const Vector& corner : corners)
    for (std::size_t side = 0; side < 3; ++side) {
      const auto at = static_cast<float>(corner[side]);
      box.low[side] = std::min(box.low[side], at), box.high[side] = std::max(box.high[side], at);
    }
  return box;
}

// Margin by which boxes are enlarged on all sides, so that the boxes of near faces overlap.
struct Reach {
  float length;  // half of the distance below which faces are near
  float share;   // if larger, this share of the box's longest side, as in phdMesh

  // Returns `tight`, the bounding box of a face's corners, enlarged by the margin.
  Box around(const Box& tight) const {
    float longest = 0;
    for (std::size_t side = 0; side < 3; ++side) longest = std::max(longest, tight.high[side] - tight.low[side]);
    const float more = length + share * longest;
    Box box = tight;
    for (std::size_t side = 0; side < 3; ++side) box.low[side] -= more, box.high[side] += more;
    return box;
  }
};

// Boxes of faces, grouped into fragments.
class Faces {
 public:
  struct Fragment {
    std::uint32_t gear;
    std::uint32_t begin, end;  // of its faces
    Box box;
  };

  void clear() {
    fragments_.clear(), numbers_.clear();
    for (auto& side : sides_) side.clear();
  }
  // Adds a face. Consecutive faces of one gear form a fragment; `number` is the number of the face in its gear.
  void add(std::uint32_t gear, std::uint32_t number, const Box& box) {
    const auto at = static_cast<std::uint32_t>(size());
    if (fragments_.empty() || fragments_.back().gear != gear) fragments_.push_back({gear, at, at, Box::nothing()});
    fragments_.back().end = at + 1;
    fragments_.back().box.add(box);
    numbers_.push_back(number);
    for (std::size_t side = 0; side < 3; ++side)
      sides_[side].push_back(box.low[side]), sides_[side + 3].push_back(box.high[side]);
  }
  // Updates all boxes after faces have moved: `boxes(at)` returns the box of face `at`, in the order of add().
  template <class Boxes>
  void move(const Boxes& boxes) {
    for (Fragment& fragment : fragments_) {
      fragment.box = Box::nothing();
      for (std::uint32_t at = fragment.begin; at < fragment.end; ++at) {
        const Box box = boxes(at);
        fragment.box.add(box);
        for (std::size_t side = 0; side < 3; ++side)
          sides_[side][at] = box.low[side], sides_[side + 3][at] = box.high[side];
      }
    }
  }

  std::size_t size() const { return numbers_.size(); }
  std::uint32_t number(std::size_t at) const { return numbers_[at]; }
  Box box(std::size_t at) const {
    return {{sides_[0][at], sides_[1][at], sides_[2][at]}, {sides_[3][at], sides_[4][at], sides_[5][at]}};
  }
  const std::vector<Fragment>& fragments() const { return fragments_; }
  const float* side(std::size_t which) const {
    return sides_[which].data();
  }  // 0 … 2: lower bounds along x, y, z; 3 … 5: upper bounds
  std::size_t bytes() const {
    return fragments_.capacity() * sizeof(Fragment) + numbers_.capacity() * sizeof(std::uint32_t) +
           6 * sides_[0].capacity() * sizeof(float);
  }

 private:
  std::vector<Fragment> fragments_;
  std::vector<std::uint32_t> numbers_;
  std::array<std::vector<float>, 6> sides_;
};

// Two near faces. `domain` belongs to the gear with the lower number and is an index into the rank's own faces; `range`
// belongs to the other gear and is an index into own faces followed by received ones.
struct Contact {
  std::uint32_t domain, range;
};

// Boxes of several faces, arranged for SIMD; at most `room`.
struct Strip {
  std::vector<float> sides[6];
  std::vector<std::uint32_t> at;
  std::size_t count = 0;

  // Reserves room for `faces` and for padding.
  void reserve(std::size_t faces) {
    constexpr std::size_t more = 32;
    if (at.size() >= faces + more) return;
    for (auto& side : sides) side.resize(faces + more);
    at.resize(faces + more);
  }
};

// Writes the faces in [begin, end) whose boxes overlap `box` to `strip`, which has room for them.
KIVIAT_EVERY_WIDTH
static void select(const Faces& faces, std::uint32_t begin, std::uint32_t end, const Box& box, Strip& strip) {
  const float *x = faces.side(0), *y = faces.side(1), *z = faces.side(2);
  const float *to_x = faces.side(3), *to_y = faces.side(4), *to_z = faces.side(5);
  std::uint32_t* found = strip.at.data();
  std::size_t count = 0;
  for (std::uint32_t i = begin; i < end; ++i) {
    const bool near = (x[i] <= box.high[0]) & (box.low[0] <= to_x[i]) & (y[i] <= box.high[1]) &
                      (box.low[1] <= to_y[i]) & (z[i] <= box.high[2]) & (box.low[2] <= to_z[i]);
    found[count] = i;
    count += near;
  }
  for (std::size_t side = 0; side < 6; ++side) {
    const float* from = faces.side(side);
    float* to = strip.sides[side].data();
    for (std::size_t i = 0; i < count; ++i) to[i] = from[found[i]];
  }
  strip.count = count;
}

// Tests each face against each other face. Writes contacts to `contacts`, which must have room for all pairs; returns
// their end.
KIVIAT_EVERY_WIDTH
static Contact* test(const Strip& domain, const Strip& range, std::uint32_t range_offset, unsigned char* hits,
                     Contact* contacts) {
  const float *x = range.sides[0].data(), *y = range.sides[1].data(), *z = range.sides[2].data();
  const float *to_x = range.sides[3].data(), *to_y = range.sides[4].data(), *to_z = range.sides[5].data();
  for (std::size_t i = 0; i < domain.count; ++i) {
    const float low_x = domain.sides[0][i], low_y = domain.sides[1][i], low_z = domain.sides[2][i];
    const float high_x = domain.sides[3][i], high_y = domain.sides[4][i], high_z = domain.sides[5][i];
#pragma omp simd
    for (std::size_t j = 0; j < range.count; ++j)
      hits[j] = (x[j] <= high_x) & (low_x <= to_x[j]) & (y[j] <= high_y) & (low_y <= to_y[j]) & (z[j] <= high_z) &
                (low_z <= to_z[j]);
    for (std::size_t j = 0; j < range.count; ++j) {
      *contacts = {domain.at[i], range.at[j] + range_offset};
      contacts += hits[j];
    }
  }
  return contacts;
}

// Finds contacts between own faces, and between own and received ones.
class FaceSearch {
 public:
  // References are valid until the next search.
  struct Found {
    const Contact* contacts;
    std::size_t count;
    const Contact* begin() const { return contacts; }
    const Contact* end() const { return contacts + count; }
  };

  Found operator()(const Faces& own, const Faces& came) {
    sweep_.clear(), tested_ = 0, selected_ = 0, count_ = 0;
    const auto begins = [&](const Faces& faces, bool mine) {
      for (const Faces::Fragment& fragment : faces.fragments())
        sweep_.push_back({fragment.box.low[0], mine, &fragment});
    };
    begins(own, true), begins(came, false);
    // Corrupted messages may contain NaN, which cannot be sorted.
    std::erase_if(sweep_, [](const Begin& begin) { return !(begin.x == begin.x); });
    std::ranges::sort(sweep_, {}, &Begin::x);
    for (auto one = sweep_.begin(); one != sweep_.end(); ++one)
      for (auto other = one + 1; other != sweep_.end() && other->x <= one->fragment->box.high[0]; ++other) {
        const bool ascending = one->fragment->gear < other->fragment->gear;
        const Begin &domain = ascending ? *one : *other, &range = ascending ? *other : *one;
        if (domain.mine && domain.fragment->gear != range.fragment->gear)
          meet(own, *domain.fragment, range.mine ? own : came, *range.fragment, range.mine);
      }
    return {contacts_.data(), count_};
  }

  // Statistics of the last search: box tests, and faces visited to find candidates.
  std::size_t tested() const { return tested_; }
  std::size_t selected() const { return selected_; }
  std::size_t bytes() const {
    return contacts_.capacity() * sizeof(Contact) + 28 * (domain_.at.capacity() + range_.at.capacity()) +
           hits_.capacity();
  }

 private:
  struct Begin {
    float x;
    bool mine;
    const Faces::Fragment* fragment;
  };

  void meet(const Faces& own, const Faces::Fragment& domain, const Faces& others, const Faces::Fragment& range,
            bool mine) {
    if (!domain.box.overlaps(range.box)) return;
    const std::size_t most_domain = domain.end - domain.begin, most_range = range.end - range.begin;
    domain_.reserve(most_domain), range_.reserve(most_range);
    selected_ += most_domain + most_range;
    select(own, domain.begin, domain.end, range.box, domain_);
    select(others, range.begin, range.end, domain.box, range_);
    const std::size_t tests = domain_.count * range_.count;
    tested_ += tests;
    if (hits_.size() < most_range) hits_.resize(most_range);
    if (contacts_.size() < count_ + tests + 1) contacts_.resize(2 * (count_ + tests + 1));
    Contact* const begin = contacts_.data() + count_;
    const auto offset = static_cast<std::uint32_t>(mine ? 0 : own.size());
    count_ += static_cast<std::size_t>(test(domain_, range_, offset, hits_.data(), begin) - begin);
  }

  std::vector<Begin> sweep_;
  Strip domain_, range_;
  std::vector<unsigned char> hits_;
  std::vector<Contact> contacts_;
  std::size_t count_ = 0, tested_ = 0, selected_ = 0;
};

}  // namespace kiviat::app
