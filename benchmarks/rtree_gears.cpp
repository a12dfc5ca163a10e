// The search of Gears by an R-tree: rtree_gears I J K STEPS prints seconds for each step and the contacts of all of them.
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
using Entry = std::pair<TreeBox, std::uint32_t>;  // with its gear

int main(int count, char** words) {
  if (count != 5) return std::fprintf(stderr, "usage: rtree_gears I J K STEPS\n"), 2;
  const kiviat::app::Train train{std::atoll(words[1]), std::atoll(words[2]), std::atoll(words[3])};
  const int steps = std::atoi(words[4]);
  std::uint64_t contacts = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
  double seconds = 0;
  for (int step = 0; step < steps; ++step) {
    const kiviat::app::Turn turn(2 * std::numbers::pi * step / (steps - 1));
    std::vector<Entry> entries;
    for (std::int64_t gear = 0; gear < train.gears(); ++gear) {
      const kiviat::app::GearBoxes boxes(train, turn, gear, {0.125f, 0});
      for (std::size_t face = 0; face < kiviat::app::Gear::faces; ++face) {
        const kiviat::app::Box& box = boxes[face];
        const Corner low(box.low[0], box.low[1], box.low[2]), high(box.high[0], box.high[1], box.high[2]);
        entries.emplace_back(TreeBox(low, high), static_cast<std::uint32_t>(gear));
      }
    }
    found.clear();
    const auto start = std::chrono::steady_clock::now();
    const geometry::index::rtree<Entry, geometry::index::rstar<16>> tree(entries);
    for (std::uint32_t domain = 0; domain < entries.size(); ++domain) {
      const auto keep = boost::make_function_output_iterator([&](const Entry& other) {
        if (other.second > entries[domain].second) found.emplace_back(domain, other.second);
      });
      tree.query(geometry::index::intersects(entries[domain].first), keep);
    }
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    contacts += found.size();
  }
  std::printf("%.9f %llu\n", seconds / steps, static_cast<unsigned long long>(contacts));
}
