// Search of Gears by an R-tree: `rtree_gears I J K STEPS` prints the seconds of each step and the total number of
// contacts.
#include <boost/geometry.hpp>
#include <boost/geometry/geometries/box.hpp>
#include <boost/geometry/geometries/point.hpp>
#include <boost/geometry/index/rtree.hpp>
#include <boost/iterator/function_output_iterator.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <utility>
#include <vector>

#include "bench/app/gear_replay.hpp"

namespace geometry = boost::geometry;
using Corner = geometry::model::point<float, 3, geometry::cs::cartesian>;
using TreeBox = geometry::model::box<Corner>;
using Entry = std::pair<TreeBox, std::uint32_t>;  // box and number of a face
using Tree = geometry::index::rtree<Entry, geometry::index::rstar<16>>;

template <class Use>
void each_that_overlaps(const Tree& tree, const TreeBox& box, Use use) {
  tree.query(geometry::index::intersects(box),
             boost::make_function_output_iterator([&](const Entry& entry) { use(entry); }));
}

// Finds each pair once. A tree of gears yields the pairs of gears whose boxes overlap (a gear has no contacts with
// itself); the tree of one gear's faces yields those that overlap each face of the other.
void search(const std::vector<std::vector<Entry>>& gears, std::vector<std::pair<std::uint32_t, std::uint32_t>>& found) {
  std::vector<Tree> trees;
  std::vector<Entry> boxes;
  for (const std::vector<Entry>& faces : gears) {
    trees.emplace_back(faces);  // packed construction
    boxes.emplace_back(trees.back().bounds(), static_cast<std::uint32_t>(boxes.size()));
  }
  const Tree all(boxes);
  for (const auto& [box, gear] : boxes)
    each_that_overlaps(all, box, [&, &box = box, &gear = gear](const Entry& other) {
      if (other.second <= gear) return;
      TreeBox common;
      geometry::intersection(box, other.first, common);
      each_that_overlaps(trees[gear], common, [&](const Entry& domain) {
        each_that_overlaps(trees[other.second], domain.first,
                           [&](const Entry& range) { found.emplace_back(domain.second, range.second); });
      });
    });
}

int main(int count, char** words) {
  if (count != 5) return std::fprintf(stderr, "usage: rtree_gears I J K STEPS\n"), 2;
  const kiviat::app::Train train{std::atoll(words[1]), std::atoll(words[2]), std::atoll(words[3])};
  const int steps = std::atoi(words[4]);
  std::uint64_t contacts = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
  double seconds = 0;
  for (int step = -1; step < steps; ++step) {  // -1: a first search, not timed, as gears makes one
    const kiviat::app::Turn turn(2 * std::numbers::pi * step / (steps - 1));
    std::vector<std::vector<Entry>> gears;
    for (std::int64_t gear = 0; gear < train.gears(); ++gear) {
      const kiviat::app::GearBoxes boxes(train, turn, gear, {0.125f, 0});
      std::vector<Entry>& faces = gears.emplace_back();
      for (std::size_t face = 0; face < kiviat::app::Gear::faces; ++face) {
        const kiviat::app::Box& box = boxes[face];
        const Corner low(box.low[0], box.low[1], box.low[2]), high(box.high[0], box.high[1], box.high[2]);
        faces.emplace_back(TreeBox(low, high), static_cast<std::uint32_t>(gear * kiviat::app::Gear::faces + face));
      }
    }
    found.clear();
    const auto start = std::chrono::steady_clock::now();
    search(gears, found);
    if (step < 0) continue;
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    contacts += found.size();
  }
  std::printf("%.9f %llu\n", seconds / steps, static_cast<unsigned long long>(contacts));
}
