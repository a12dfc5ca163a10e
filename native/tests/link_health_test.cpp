// Detection of slow ranks and links in fabricated times of known cause, over many seeds.
#include "bench/pattern/link_health.hpp"

#include <map>
#include <set>

#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

// A machine with `per_node` ranks on each node, some of whose ranks and links are slower by a factor.
struct Machine {
  int ranks;
  std::map<int, double> slow_ranks = {};
  std::map<std::pair<int, int>, double> slow_links = {};
  int per_node = 1;
  bool slower_one_decides =
      false;  // if true, the slower rank of a pair determines its time (bandwidth); else both add (overhead)
  unsigned long long random = 1;

  double uniform() { return static_cast<double>(next_random(random) >> 11) * 0x1p-53; }
  bool far(int a, int b) const { return a / per_node != b / per_node; }
  double factor(int rank) const {
    const auto found = slow_ranks.find(rank);
    return found == slow_ranks.end() ? 1 : found->second;
  }
  // Noise of about 10 %; one time in twenty is up to five times as long, as if disturbed by another program.
  double seconds(int a, int b) {
    const double noise = 0.1 * (uniform() + uniform() + uniform() + uniform() - 2) / std::sqrt(4.0 / 12);
    const double burst = uniform() < 0.05 ? 1 + 4 * uniform() : 1;
    const auto link = slow_links.find(std::minmax(a, b));
    const double sick = slower_one_decides ? std::max(factor(a), factor(b)) : factor(a) * factor(b);
    return (far(a, b) ? 5e-6 : 1e-6) * std::exp(noise) * burst * sick * (link == slow_links.end() ? 1 : link->second);
  }
};

struct Found {
  std::map<int, double> ranks;  // slow ranks with their factors
  std::map<std::pair<int, int>, double> links;
};

Found examine(Machine& machine, std::uint64_t seed, const char* many = "log") {
  const int ranks = machine.ranks, rounds = sick_rounds(ranks, many);
  machine.random = seed;
  const SickSchedule schedule(ranks, seed);
  std::vector<PairTime> times;
  for (int round = 0; round < rounds; ++round)
    for (int rank = 0; rank < ranks; ++rank)
      if (const int partner = schedule.partner(round, rank); partner > rank)
        times.push_back({round, rank, partner, machine.far(rank, partner), machine.seconds(rank, partner)});
  const Diagnosis diagnosis(ranks, std::move(times));
  Found found;
  for (int rank = 0; rank < ranks; ++rank)
    if (diagnosis.ranks()[rank].slow) found.ranks[rank] = diagnosis.ranks()[rank].factor;
  const SickRules rules;
  const auto far = [&](int a, int b) { return machine.far(a, b); };
  std::vector<Link> suspects = diagnosis.suspects();
  for (int screen = 0; screen < rules.screens; ++screen) {
    std::vector<PairTime> again;
    int index = 0;
    for (const auto& partners : screening_rounds(ranks, suspects, seed + screen)) {
      for (int rank = 0; rank < ranks; ++rank)
        if (partners[rank] > rank)
          again.push_back(
              {index, rank, partners[rank], far(rank, partners[rank]), machine.seconds(rank, partners[rank])});
      ++index;
    }
    suspects = diagnosis.still_suspect(suspects, again);
  }
  suspects.resize(std::min<std::size_t>(suspects.size(), rules.most_looked_at));
  for (const auto& [low, high, is_far] : suspects) {
    const auto first = diagnosis.control(low, high, -1, far),
               second = diagnosis.control(high, low, first.value_or(-1), far);
    if (!first || !second) continue;
    std::vector<LinkTimes> looks;
    for (int look = 0; look < rules.looks; ++look)
      looks.push_back({machine.seconds(low, high), machine.seconds(low, *first), machine.seconds(high, *second)});
    const LinkHealth health = judge_link(looks, suspects.size());
    if (health.slow) found.links[{low, high}] = health.factor;
  }
  return found;
}

// Returns a pair with `rank` that the schedule of this seed measures.
std::pair<int, int> measured_link(int ranks, std::uint64_t seed, int rank) {
  return std::minmax(rank, SickSchedule(ranks, seed).partner(3, rank));
}

bool about(double value, double expected) { return std::abs(value / expected - 1) < 0.15; }

}  // namespace

RANKED_TEST(a_healthy_machine_is_called_healthy, 1) {
  for (const auto& [ranks, seeds] : {std::pair{5, 400}, {8, 400}, {64, 400}, {1024, 20}}) {
    int wrong = 0;
    for (int seed = 0; seed < seeds; ++seed) {
      Machine machine{ranks};
      const Found found = examine(machine, seed);
      wrong += !found.ranks.empty() + !found.links.empty();
    }
    EXPECT(wrong <= seeds / 100);  // a confidence of 99 % permits these errors
  }
}

RANKED_TEST(near_and_far_pairs_are_not_compared, 1) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Machine machine{64};
    machine.per_node = 16;
    const Found found = examine(machine, seed);
    EXPECT(found.ranks.empty());
    EXPECT(found.links.empty());
  }
}

RANKED_TEST(a_slow_rank_is_found_alone, 1) {
  for (const auto& [ranks, seeds] : {std::pair{8, 100}, {64, 200}, {1024, 20}}) {
    int right = 0, others = 0;
    for (int seed = 0; seed < seeds; ++seed) {
      const int sick = seed * 37 % ranks;
      Machine machine{ranks, {{sick, 1.6}}};
      const Found found = examine(machine, seed);
      right += found.ranks.size() == 1 && found.ranks.contains(sick) && about(found.ranks.at(sick), 1.6);
      others += !found.links.empty();
    }
    EXPECT(right >= (ranks == 8 ? seeds * 9 / 10 : seeds * 99 / 100));
    EXPECT(others <= seeds / 50);
  }
}

RANKED_TEST(a_slow_link_is_found_alone, 1) {
  for (const auto& [ranks, seeds] : {std::pair{64, 200}, {1024, 20}}) {
    int right = 0;
    for (int seed = 0; seed < seeds; ++seed) {
      const auto link = measured_link(ranks, seed, seed % ranks);
      Machine machine{ranks, {}, {{link, 3.0}}};
      const Found found = examine(machine, seed);
      right += found.ranks.empty() && found.links.size() == 1 && found.links.contains(link) &&
               about(found.links.at(link), 3);
    }
    EXPECT(right >= seeds * 95 / 100);
  }
}

// One in twenty ranks and one link are slow; healthy partners of slow ranks must not be named.
RANKED_TEST(many_slow_ranks_and_a_link_are_found_together, 1) {
  for (const bool decides : {false, true}) {
    int right = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      Machine machine{128};
      machine.slower_one_decides = decides;
      std::set<int> sick;
      for (int i = 0; i < 6; ++i) sick.insert((static_cast<int>(seed) * 11 + i * 19) % 128);
      for (const int rank : sick) machine.slow_ranks[rank] = 2;
      int healthy = 1;
      auto link = measured_link(128, seed, healthy);
      while (sick.contains(link.first) || sick.contains(link.second)) link = measured_link(128, seed, ++healthy);
      machine.slow_links[link] = 4;
      const Found found = examine(machine, seed);
      std::set<int> named;
      for (const auto& [rank, factor] : found.ranks) named.insert(rank);
      right += named == sick && found.links.contains(link) && found.links.size() == 1;
    }
    EXPECT(right >= 45);
  }
}

// A rank that is slower by less than the required factor is not named, even if the difference is significant.
RANKED_TEST(a_little_slower_is_not_sick, 1) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Machine machine{64, {{7, 1.08}}};
    EXPECT(examine(machine, seed).ranks.empty());
  }
}

RANKED_TEST(all_rounds_look_at_every_link, 1) {
  Machine machine{32, {}, {{{3, 17}, 3.0}, {{20, 21}, 3.0}}};
  const Found found = examine(machine, 4, "all");
  EXPECT(found.links.size() == 2);
  EXPECT(found.links.contains({3, 17}));
  EXPECT(found.links.contains({20, 21}));
}

RANKED_TEST(sick_schedules_do_not_repeat_pairs, 1) {
  for (const int ranks : {4, 5, 64, 65}) {
    const SickSchedule schedule(ranks, 3);
    std::set<std::pair<int, int>> pairs;
    bool agreed = true;
    for (int round = 0; round < circle_rounds(ranks); ++round)
      for (int rank = 0; rank < ranks; ++rank) {
        const int partner = schedule.partner(round, rank);
        agreed = agreed && (partner == MPI_PROC_NULL || schedule.partner(round, partner) == rank);
        if (partner > rank) pairs.emplace(rank, partner);
      }
    EXPECT(agreed);
    EXPECT(pairs.size() == static_cast<std::size_t>(ranks * (ranks - 1) / 2));
  }
  EXPECT(sick_rounds(4, "log") == 16);
  EXPECT(sick_rounds(1024, "log") == 48);
  EXPECT(sick_rounds(4096, "sqrt") == 128);
  EXPECT(sick_rounds(4096, "all") == 4095);
}

RANKED_TEST(screening_rounds_have_every_suspect_and_nobody_twice, 1) {
  const std::vector<Link> links = {{0, 1, true}, {0, 2, true}, {1, 2, true}, {3, 8, true}};
  const auto rounds = screening_rounds(9, links, 1);
  EXPECT(rounds.size() == 3);  // three of the links share ranks
  std::map<std::pair<int, int>, int> met;
  for (const auto& partners : rounds) {
    int alone = 0;
    for (int rank = 0; rank < 9; ++rank) {
      alone += partners[rank] == MPI_PROC_NULL;
      if (partners[rank] != MPI_PROC_NULL) EXPECT(partners[partners[rank]] == rank);
      if (partners[rank] > rank) ++met[{rank, partners[rank]}];
    }
    EXPECT(alone == 1);
  }
  for (const Link& link : links) EXPECT(met.contains({link.low, link.high}));
  EXPECT(screening_rounds(9, {}, 1).empty());
}

RANKED_TEST(binomial_tails, 1) {
  EXPECT(std::abs(binomial_tail(10, 10, 0.5) - 1.0 / 1024) < 1e-12);
  EXPECT(std::abs(binomial_tail(10, 8, 0.5) - 56.0 / 1024) < 1e-12);
  EXPECT(std::abs(binomial_tail(3, 2, 1.0 / 3) - 7.0 / 27) < 1e-12);
  EXPECT(std::abs(binomial_tail(12, 0, 0.5) - 1) < 1e-12);
}
