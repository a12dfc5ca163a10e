// Rates of flows that share links: weighted max-min fairness with an upper bound for each flow.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace kiviat::sim {

// Progressive filling: all flows grow together, each at a pace of 1 / penalty. When a link is full or a flow reaches
// its bound, the flows concerned stop at this level (rate times penalty) and the others continue (D. Bertsekas and R.
// Gallager, Data Networks, 1992, section 6.5.2).
//
// Rates are fair if and only if each flow either has reached its bound or crosses a full link on which no flow has a
// higher level (its bottleneck; ibid.). After flows were added or removed, solve() therefore recomputes the rates of
// some flows only: the new flows, and the flows whose bottleneck a removed flow used. It then checks the condition on
// the links of these flows and adds all flows that violate it, until none does.
class MaxMin {
 public:
  using Number = std::size_t;
  static constexpr Number none = static_cast<Number>(-1);
  struct Use {
    Number link;
    double weight;     // capacity of the link that one unit of the flow's rate uses
    Number place = 0;  // index among the flows of the link
  };

  Number add_link(double capacity) {
    links_.push_back({capacity, {}, 0, 0, 0, 0, none});
    return links_.size() - 1;
  }
  // `most` is the upper bound of the rate; the flow is unbounded if it is not positive. A flow without links has the
  // rate of its bound, or 0.
  Number add_flow(double penalty, double most, std::span<const Use> uses) {
    Number number = flows_.size();
    if (free_.empty())
      flows_.emplace_back();
    else
      number = free_.back(), free_.pop_back();
    Flow& flow = flows_[number];
    flow = {penalty, most, 0, none, 0, false, {uses.begin(), uses.end()}};
    for (Number at = 0; at < flow.uses.size(); ++at) {
      Link& link = links_[flow.uses[at].link];
      flow.uses[at].place = link.users.size();
      link.users.push_back({number, at});
    }
    ++count_;
    waiting_.push_back(number);
    return number;
  }
  void remove_flow(Number number) {
    Flow& flow = flows_[number];
    for (const Use& use : flow.uses) {
      Link& link = links_[use.link];
      link.users[use.place] = link.users.back();
      const User moved = link.users[use.place];
      flows_[moved.flow].uses[moved.use].place = use.place;
      link.users.pop_back();
    }
    // Flows whose bottleneck was one of these links may grow.
    for (const Use& use : flow.uses)
      for (const User& user : links_[use.link].users)
        if (flows_[user.flow].bottleneck == use.link) waiting_.push_back(user.flow);
    flow.uses.clear(), flow.gone = true;
    --count_;
    free_later_.push_back(number);
  }

  // Computes the rates; calls changed(flow) for each flow whose rate may have changed.
  template <class Changed>
  void solve(Changed changed) {
    ++round_;
    shared_.clear(), touched_.clear();
    for (const Number flow : waiting_) share_again(flow);
    waiting_.clear();
    for (std::size_t checked = 0; checked < shared_.size();) {
      if (2 * shared_.size() > count_)  // if most flows are concerned, recomputes all at once
        for (Number flow = 0; flow < flows_.size(); ++flow) share_again(flow);
      checked = shared_.size();
      fill();
      for (std::size_t at = 0, links = touched_.size(); at < links; ++at) add_unfair(touched_[at]);
    }
    for (const Number flow : shared_) changed(flow);
    for (const Number flow : free_later_) free_.push_back(flow);
    free_later_.clear();
  }
  double rate(Number flow) const { return flows_[flow].rate; }

 private:
  static constexpr double rounding = 1e-9;

  struct Flow {
    double penalty, most, rate;
    Number bottleneck;         // a link; `none` if the flow has reached its bound
    std::size_t shared_round;  // round of solve() in which its rate was last recomputed
    bool gone;
    std::vector<Use> uses;
    bool fixed = false;
    double level() const { return rate * penalty; }
  };
  struct User {
    Number flow, use;
  };
  struct Link {
    double capacity;
    std::vector<User> users;
    double remaining, usage, level;  // during fill()
    std::size_t growing;             // number of flows whose rate is not fixed yet
    std::size_t touched_round;
  };
  using Events = std::vector<std::pair<double, Number>>;  // heap of levels, lowest first

  void share_again(Number number) {
    Flow& flow = flows_[number];
    if (flow.gone || flow.shared_round == round_) return;
    flow.shared_round = round_;
    shared_.push_back(number);
    for (const Use& use : flow.uses)
      if (Link& link = links_[use.link]; link.touched_round != round_)
        link.touched_round = round_, touched_.push_back(use.link);
  }

  // Adds flows that this link makes unfair, although their rates are not being recomputed in this round.
  void add_unfair(Number number) {
    const Link& link = links_[number];
    // levels of recomputed flows: the highest, and the lowest of those with this bottleneck
    double highest = 0, lowest = INFINITY;
    for (const User& user : link.users) {
      const Flow& flow = flows_[user.flow];
      if (flow.shared_round != round_) continue;
      highest = std::max(highest, flow.level());
      if (flow.bottleneck == number) lowest = std::min(lowest, flow.level());
    }
    const bool full = link.remaining <= rounding * link.capacity;
    for (std::size_t at = 0; at < link.users.size(); ++at) {
      const Flow& flow = flows_[link.users[at].flow];
      if (flow.shared_round == round_) continue;
      const bool held_back = flow.bottleneck == number;
      if (flow.level() > lowest * (1 + rounding) || (held_back && (!full || highest > flow.level() * (1 + rounding))))
        share_again(link.users[at].flow);
    }
  }

  static void drop(Events& events) {
    std::ranges::pop_heap(events, std::greater<>());
    events.pop_back();
  }

  // Progressive filling of the recomputed flows with the capacity that the other flows leave.
  void fill() {
    filling_.clear(), bounds_.clear();
    for (const Number number : touched_) {
      Link& link = links_[number];
      link.remaining = link.capacity, link.usage = 0, link.growing = 0;
      for (const User& user : link.users) {
        const Flow& flow = flows_[user.flow];
        const double weight = flow.uses[user.use].weight;
        if (flow.shared_round == round_)
          link.usage += weight / flow.penalty, ++link.growing;
        else
          link.remaining -= weight * flow.rate;
      }
      link.remaining = std::max(link.remaining, 0.0);
      filling_.emplace_back(link.remaining / link.usage, number);
    }
    for (const Number number : shared_) {
      Flow& flow = flows_[number];
      flow.fixed = false, flow.rate = 0;
      if (flow.most > 0) bounds_.emplace_back(flow.most * flow.penalty, number);
    }
    std::ranges::make_heap(filling_, std::greater<>());
    std::ranges::make_heap(bounds_, std::greater<>());
    double level = 0;
    for (std::size_t left = shared_.size(); left > 0;) {
      while (!filling_.empty() && !is_current(level)) {
      }
      while (!bounds_.empty() && flows_[bounds_.front().second].fixed) drop(bounds_);
      if (!bounds_.empty() && (filling_.empty() || bounds_.front().first <= filling_.front().first)) {
        const auto [reached, number] = bounds_.front();
        level = std::max(level, reached);
        drop(bounds_);
        fix(flows_[number], flows_[number].most, none), --left;
      } else if (!filling_.empty()) {
        const auto [reached, number] = filling_.front();
        level = reached;
        drop(filling_);
        for (const User& user : links_[number].users)
          if (Flow& flow = flows_[user.flow]; flow.shared_round == round_ && !flow.fixed)
            fix(flow, level / flow.penalty, number), --left;
      } else {
        break;
      }
    }
  }
  void fix(Flow& flow, double rate, Number bottleneck) {
    flow.rate = rate, flow.bottleneck = bottleneck, flow.fixed = true;
    for (const Use& use : flow.uses) {
      Link& link = links_[use.link];
      link.remaining -= use.weight * rate, link.usage -= use.weight / flow.penalty, --link.growing;
    }
  }

  // Returns true if the first link of the heap has its current level; otherwise corrects its level, or removes it.
  // Levels only grow, so a link with an outdated level is found too early, never too late. Rounding may put a link
  // below the level already reached.
  bool is_current(double reached) {
    const Link& link = links_[filling_.front().second];
    if (link.growing == 0) return drop(filling_), false;
    const double level = std::max(reached, link.usage > 0 ? link.remaining / link.usage : reached);
    if (level <= filling_.front().first * (1 + 1e-12)) return true;
    std::ranges::pop_heap(filling_, std::greater<>());
    filling_.back().first = level;
    std::ranges::push_heap(filling_, std::greater<>());
    return false;
  }

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<Number> free_, free_later_;
  std::size_t count_ = 0, round_ = 0;
  std::vector<Number> waiting_;  // flows to recompute
  std::vector<Number> shared_, touched_;
  Events filling_, bounds_;
};

}  // namespace kiviat::sim
