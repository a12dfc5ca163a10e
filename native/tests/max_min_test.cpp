// Rates of flows that share links: after each change they equal those of the definition, in known cases and random
// ones.
#include "simgrid/max_min.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "ranked_test.hpp"
#include "support/random.hpp"

using kiviat::sim::MaxMin;

namespace {

struct Flow {
  double penalty, most;
  std::vector<MaxMin::Use> uses;
};
using Flows = std::map<MaxMin::Number, Flow>;
using Rates = std::map<MaxMin::Number, double>;

// Progressive filling by the definition: finds each event by examining all flows and links.
Rates filled(std::vector<double> remaining, const Flows& flows) {
  Rates rates;
  while (rates.size() < flows.size()) {
    double level = INFINITY;
    MaxMin::Number full = MaxMin::none, bounded = MaxMin::none;
    for (MaxMin::Number link = 0; link < remaining.size(); ++link) {
      double usage = 0;
      for (const auto& [number, flow] : flows)
        for (const auto& use : flow.uses)
          if (use.link == link && !rates.contains(number)) usage += use.weight / flow.penalty;
      if (usage > 0 && remaining[link] / usage < level) level = remaining[link] / usage, full = link;
    }
    for (const auto& [number, flow] : flows)
      if (!rates.contains(number) && flow.most > 0 && flow.most * flow.penalty <= level)
        level = flow.most * flow.penalty, bounded = number;
    std::set<MaxMin::Number> reached;
    if (bounded != MaxMin::none) reached.insert(bounded);
    for (const auto& [number, flow] : flows)
      for (const auto& use : flow.uses)
        if (bounded == MaxMin::none && use.link == full && !rates.contains(number)) reached.insert(number);
    if (reached.empty()) return rates;
    for (const MaxMin::Number number : reached) {
      const Flow& flow = flows.at(number);
      rates[number] = level / flow.penalty;
      for (const auto& use : flow.uses)
        remaining[use.link] = std::max(0.0, remaining[use.link] - use.weight * rates[number]);
    }
  }
  return rates;
}

double relative(double found, double expected) { return std::abs(found - expected) / std::max(expected, 1e-9); }

}  // namespace

RANKED_TEST(flows_share_a_link_until_one_leaves, 1) {
  MaxMin shares;
  const auto wide = shares.add_link(10), narrow = shares.add_link(3);
  std::map<MaxMin::Number, double> rates;
  const auto solve = [&] { shares.solve([&](MaxMin::Number flow) { rates[flow] = shares.rate(flow); }); };
  const auto one = shares.add_flow(1, -1, std::vector<MaxMin::Use>{{wide, 1}});
  const auto two = shares.add_flow(1, -1, std::vector<MaxMin::Use>{{wide, 1}, {narrow, 1}});
  const auto three = shares.add_flow(2, 4, std::vector<MaxMin::Use>{{wide, 1}});
  solve();
  // Level 3 fills the narrow link; the two others share the remaining 7 in the ratio of 2 to 1.
  EXPECT(relative(rates[two], 3) < 1e-12);
  EXPECT(relative(rates[one], 14.0 / 3) < 1e-12);
  EXPECT(relative(rates[three], 7.0 / 3) < 1e-12);
  shares.remove_flow(one);
  solve();
  EXPECT(relative(rates[two], 3) < 1e-12);
  EXPECT(relative(rates[three], 4) < 1e-12);  // the flow's bound
}

RANKED_TEST(rates_after_each_change_are_those_of_progressive_filling, 1) {
  std::uint64_t drawn = 0;
  const auto below = [&](std::uint64_t bound) { return kiviat::random_at(7, drawn++) % bound; };
  double worst = 0;
  for (int trial = 0; trial < 60; ++trial) {
    MaxMin shares;
    std::vector<double> capacities;
    for (std::uint64_t links = 1 + below(12); links > 0; --links) {
      capacities.push_back(below(3) ? static_cast<double>(1 + below(5)) : 0.01 * static_cast<double>(1 + below(1000)));
      shares.add_link(capacities.back());
    }
    Flows flows;
    Rates rates;
    for (int step = 0; step < 40; ++step) {
      for (std::uint64_t changes = 1 + below(3); changes > 0; --changes) {
        if (!flows.empty() && below(3) == 0) {
          const auto leaving = std::next(flows.begin(), static_cast<std::ptrdiff_t>(below(flows.size())));
          shares.remove_flow(leaving->first);
          rates.erase(leaving->first), flows.erase(leaving);
          continue;
        }
        Flow flow{below(2) ? 1 : 0.3 + static_cast<double>(below(4)),
                  below(2) ? 0.1 * static_cast<double>(1 + below(20)) : -1,
                  {}};
        std::set<MaxMin::Number> links;
        for (std::uint64_t uses = 1 + below(4); uses > 0; --uses) links.insert(below(capacities.size()));
        for (const auto link : links) flow.uses.push_back({link, below(4) ? 1.0 : 2.0});
        flows[shares.add_flow(flow.penalty, flow.most, flow.uses)] = flow;
      }
      if (below(4) == 0) continue;  // apply several changes before solving
      shares.solve([&](MaxMin::Number flow) { rates[flow] = shares.rate(flow); });
      for (const auto& [flow, expected] : filled(capacities, flows))
        worst = std::max(worst, relative(rates[flow], expected));
    }
  }
  EXPECT(worst < 1e-9);
}
