// Finds slow ranks and links from the times of few rounds of disjoint pairs. Pure functions.
//
// The logarithm of a pair's time is modelled as centre + effects of both ranks + noise. Medians estimate the effects:
// if most partners of a rank are healthy, the median over rounds is the rank's own effect. Significance is tested
// without assumptions about the noise: a healthy rank is in the slower half of its round half of the time.
//
// A link is measured once or a few times, so a single disturbance could make it look slow. Links that stand out are
// therefore measured again under the same load, twice; the links that still stand out are measured alone, many times.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/pattern/pairings.hpp"
#include "results/statistics.hpp"

namespace kiviat {

struct PairTime {
  int round, low, high;
  bool far;  // whether the ranks are on different nodes; compared with such pairs only
  double seconds;
};

struct SickRules {
  double least_factor = 1.2;  // smaller factors are not reported, however significant
  double least_deviations =
      5;  // minimum deviation, in robust standard deviations over ranks or pairs after removing the effect of topology
  double confidence = 0.99;
  int screens = 2;          // number of further rounds in which a link must stand out
  int most_looked_at = 16;  // maximum number of links measured alone
  int looks = 12;           // measurements of each link measured alone
};

// Returns the number of rounds of disjoint pairs: O(log P), O(sqrt P), or all pairs.
inline int sick_rounds(int ranks, std::string_view many) {
  const int logarithmic = 8 + 4 * std::bit_width(static_cast<unsigned>(ranks - 1));
  if (many == "log") return logarithmic;
  if (many == "sqrt") return std::max(logarithmic, 2 * static_cast<int>(std::ceil(std::sqrt(ranks))));
  return std::max(logarithmic, circle_rounds(ranks));
}

// Schedule of random rounds that repeats no pair as long as possible: takes rounds of the circle method in random order
// among randomly ordered ranks, by the seed. With few ranks there are few different rounds, which repeat.
class SickSchedule {
 public:
  SickSchedule(int ranks, std::uint64_t seed)
      : rank_at_(random_order(ranks, seed)), seat_of_(ranks), round_at_(random_order(circle_rounds(ranks), seed + 1)) {
    for (int seat = 0; seat < ranks; ++seat) seat_of_[rank_at_[seat]] = seat;
  }
  int partner(int round, int rank) const {
    const int seat =
        circle_partner(static_cast<int>(rank_at_.size()), round_at_[round % round_at_.size()], seat_of_[rank]);
    return seat == MPI_PROC_NULL ? MPI_PROC_NULL : rank_at_[seat];
  }

 private:
  std::vector<int> rank_at_, seat_of_, round_at_;
};

// Probability of at least `hits` successes in `tries` trials with probability `chance` each.
inline double binomial_tail(int tries, int hits, double chance) {
  double sum = 0;
  for (int k = hits; k <= tries; ++k)
    sum += std::exp(std::lgamma(tries + 1) - std::lgamma(k + 1) - std::lgamma(tries - k + 1) + k * std::log(chance) +
                    (tries - k) * std::log1p(-chance));
  return std::min(1.0, sum);
}

// Median of logarithms of ratios; 0, no deviation, without any.
inline double middle(std::vector<double> values) { return values.empty() ? 0 : median(std::move(values)); }

// Robust standard deviation of logarithms, from the median absolute deviation; at least 0.01, which is 1 % of a time.
inline double robust_deviation(const std::vector<double>& values) {
  const double centre = middle(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - centre));
  return std::max(0.01, 1.4826 * middle(std::move(deviations)));
}

struct Link {
  int low, high;
  bool far;
};

// Rounds that measure each of `links` once, while other ranks communicate in pairs as in other rounds; each round has
// the partner of each rank.
inline std::vector<std::vector<int>> screening_rounds(int ranks, std::vector<Link> links, std::uint64_t seed) {
  std::vector<std::vector<int>> rounds;
  while (!links.empty()) {
    std::vector<int> partners(ranks, MPI_PROC_NULL), others;
    const auto pair = [&](int a, int b) { partners[a] = b, partners[b] = a; };
    std::erase_if(links, [&](const Link& link) {
      if (partners[link.low] != MPI_PROC_NULL || partners[link.high] != MPI_PROC_NULL) return false;
      pair(link.low, link.high);
      return true;
    });
    for (const int rank : random_order(ranks, seed++))
      if (partners[rank] == MPI_PROC_NULL) others.push_back(rank);
    for (std::size_t i = 0; i + 1 < others.size(); i += 2) pair(others[i], others[i + 1]);
    rounds.push_back(std::move(partners));
  }
  return rounds;
}

struct LinkHealth {
  double factor = 1, confidence = 0;
  bool slow = false;
};

class Diagnosis {
 public:
  Diagnosis(int ranks, std::vector<PairTime> times, const SickRules& rules = {})
      : ranks_(ranks), rules_(rules), times_(std::move(times)), of_rank_(ranks), health_(ranks) {
    for (const bool far : {false, true}) centre_[far] = centre(far);
    residual_ = residuals(times_);
    for (std::size_t i = 0; i < times_.size(); ++i)
      of_rank_[times_[i].low].push_back(i), of_rank_[times_[i].high].push_back(i);
    // Pairs with ranks found slow are ignored in the next pass, when other ranks are judged.
    for (int pass = 0; pass < 3; ++pass) find_slow_ranks();
    find_suspects();
  }

  const std::vector<LinkHealth>& ranks() const { return health_; }

  // Pairs of healthy ranks that stand out, slowest first; at most twice the number of ranks.
  const std::vector<Link>& suspects() const { return suspects_; }

  // Returns those of `links` that stand out again, in the same order.
  std::vector<Link> still_suspect(const std::vector<Link>& links, const std::vector<PairTime>& again) const {
    const std::vector<double> residual = residuals(again);
    std::map<std::pair<int, int>, double> excess;
    for (std::size_t i = 0; i < again.size(); ++i) excess.try_emplace({again[i].low, again[i].high}, residual[i]);
    std::vector<Link> left;
    for (const Link& link : links)
      if (excess.at({link.low, link.high}) >= std::log(rules_.least_factor)) left.push_back(link);
    return left;
  }

  // Returns a healthy rank, other than `taken`, with which `a` can be compared instead of `b`: it is on another node
  // than `a` if and only if `b` is.
  template <class Far>
  std::optional<int> control(int a, int b, int taken, Far is_far) const {
    std::optional<int> best;
    for (int rank = 0; rank < ranks_; ++rank) {
      if (rank == a || rank == b || rank == taken || health_[rank].slow || is_far(a, rank) != is_far(a, b)) continue;
      if (!best || std::abs(std::log(health_[rank].factor)) < std::abs(std::log(health_[*best].factor))) best = rank;
    }
    return best;
  }

 private:
  static constexpr std::size_t many_pairs = 5;  // minimum number for a median of the round

  double centre(bool far) const {
    std::vector<double> alike;
    for (const PairTime& time : times_)
      if (time.far == far) alike.push_back(std::log(time.seconds));
    return middle(std::move(alike));
  }

  // Deviations from the median of pairs at the same distance and, if their round has many pairs, from the median of the
  // round, because a disturbance of all pairs makes no single one slow.
  std::vector<double> residuals(const std::vector<PairTime>& times) const {
    std::vector<double> residual;
    std::map<int, std::vector<double>> rounds;
    for (const PairTime& time : times) {
      residual.push_back(std::log(time.seconds) - centre_[time.far]);
      rounds[time.round].push_back(residual.back());
    }
    std::map<int, double> of_round;
    for (const auto& [round, values] : rounds) of_round[round] = values.size() >= many_pairs ? middle(values) : 0;
    for (std::size_t i = 0; i < times.size(); ++i) residual[i] -= of_round[times[i].round];
    return residual;
  }

  void find_slow_ranks() {
    std::vector<double> effects(ranks_);
    std::vector<LinkHealth> found(ranks_);
    for (int rank = 0; rank < ranks_; ++rank) {
      std::vector<double> all, with_healthy;
      for (const std::size_t i : of_rank_[rank]) {
        const int partner = times_[i].low == rank ? times_[i].high : times_[i].low;
        all.push_back(residual_[i]);
        if (!health_[partner].slow) with_healthy.push_back(residual_[i]);
      }
      const auto& said = with_healthy.empty() ? all : with_healthy;
      effects[rank] = middle(said);
      const auto slower = static_cast<int>(std::ranges::count_if(said, [](double residual) { return residual > 0; }));
      found[rank].confidence = std::max(0.0, 1 - ranks_ * binomial_tail(static_cast<int>(said.size()), slower, 0.5));
    }
    const double centre = middle(effects), deviation = robust_deviation(effects);
    for (int rank = 0; rank < ranks_; ++rank) {
      found[rank].factor = std::exp(effects[rank] - centre);
      found[rank].slow = found[rank].factor >= rules_.least_factor && found[rank].confidence >= rules_.confidence &&
                         (effects[rank] - centre) / deviation >= rules_.least_deviations;
    }
    health_ = std::move(found);
  }

  void find_suspects() {
    struct Seen {
      bool far;
      std::vector<double> residuals;
    };
    std::map<std::pair<int, int>, Seen> links;
    for (std::size_t i = 0; i < times_.size(); ++i) {
      const PairTime& time = times_[i];
      if (health_[time.low].slow || health_[time.high].slow) continue;
      Seen& seen = links[{time.low, time.high}];
      seen.far = time.far, seen.residuals.push_back(residual_[i]);
    }
    std::vector<double> excesses;
    std::vector<std::pair<double, Link>> standing_out;
    for (const auto& [link, seen] : links) {
      excesses.push_back(middle(seen.residuals));
      standing_out.push_back({excesses.back(), {link.first, link.second, seen.far}});
    }
    const double least = std::max(std::log(rules_.least_factor), rules_.least_deviations * robust_deviation(excesses));
    std::erase_if(standing_out, [&](const auto& each) { return each.first < least; });
    std::ranges::sort(standing_out, std::greater(), [](const auto& each) { return each.first; });
    standing_out.resize(std::min<std::size_t>(standing_out.size(), 2 * static_cast<std::size_t>(ranks_)));
    for (const auto& [excess, link] : standing_out) suspects_.push_back(link);
  }

  int ranks_;
  SickRules rules_;
  std::vector<PairTime> times_;
  double centre_[2] = {};  // medians of the logarithms of times, near and far
  std::vector<double> residual_;
  std::vector<std::vector<std::size_t>> of_rank_;
  std::vector<LinkHealth> health_;
  std::vector<Link> suspects_;
};

// Times of one measurement of a suspected link, and of its two ranks with healthy partners.
struct LinkTimes {
  double link_s, low_s, high_s;
};

// Judges a link. By chance, a healthy link would be the slowest of the three in a third of the measurements.
inline LinkHealth judge_link(const std::vector<LinkTimes>& looks, std::size_t suspects, const SickRules& rules = {}) {
  std::vector<double> excesses;
  int slowest = 0;
  for (const LinkTimes& look : looks) {
    excesses.push_back(std::log(look.link_s / std::sqrt(look.low_s * look.high_s)));
    slowest += look.link_s > std::max(look.low_s, look.high_s);
  }
  const double chance = binomial_tail(static_cast<int>(looks.size()), slowest, 1.0 / 3);
  LinkHealth health{std::exp(middle(excesses)), std::max(0.0, 1 - static_cast<double>(suspects) * chance)};
  health.slow = health.factor >= rules.least_factor && health.confidence >= rules.confidence;
  return health;
}

}  // namespace kiviat
