// Results of all NAS programs: rate, time, time of each phase, and the deviation from the published results.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "measure/trial.hpp"
#include "platform/clock.hpp"
#include "platform/node.hpp"
#include "platform/steady_state.hpp"

namespace kiviat::npb {

inline std::vector<Quantity> quantities() {
  return {{"rate", "op/s", "higher", "operations of all ranks per second, as NPB counts operations"},
          {"time", "s", "lower", "time from the first operation on the initial data to the last, on the slowest rank"},
          {"deviation", "1", "lower", "greatest relative difference from a published result", true}};
}

// Metrics of programs that execute fewer operations than NPB's formula counts.
inline std::vector<Quantity> quantities_with_flops() {
  std::vector<Quantity> all = quantities();
  all.push_back({"flop_rate", "flop/s", "higher",
                 "floating-point operations that this program does, as counted in its source, over the time"});
  return all;
}

inline void tell_rate(Trial& t, double operations, double time_s) {
  t.report("rate", operations / time_s);
  t.report("time", time_s);
}

// Compares results with published values. All ranks must have the same results.
class Verification {
 public:
  explicit Verification(double tolerance) : tolerance_(tolerance) {}

  void expect(const std::string& what, double published, double found) {
    const double off = std::abs((found - published) / published);
    most_ = std::max(most_, std::isnan(off) ? INFINITY : off);
    if (off <= tolerance_ || !reason_.empty()) return;
    char numbers[80];
    std::snprintf(numbers, sizeof numbers, " is %.14e, not %.14e", found, published);
    reason_ = what + numbers;
  }

  // Reports the deviation from the published values; without payload there is no result. Collective.
  void tell(Trial& t) const {
    const bool exists = host::carries_payload();
    if (exists) t.report("deviation", most_);
    t.confirm(!exists || reason_.empty(), reason_);
  }

 private:
  double tolerance_, most_ = 0;
  std::string reason_;
};

// Time of a rank in each phase of a program: phases of computation first, then those of communication, including
// waiting.
class Phases {
 public:
  explicit Phases(const PhaseNames& names) : names_(names.computation) {
    for (const std::string& name : names.communication) {
      communication_ += (communication_.empty() ? "" : "; ") + name;
      names_.push_back(name);
    }
    seconds_.resize(names_.size());
  }

  template <class Work>
  void operator()(int phase, Work&& work) {
    const double start_s = clock::now();
    work();
    seconds_[static_cast<std::size_t>(phase)] += clock::now() - start_s;
  }
  // Executes the iterations pass(0), pass(1), … of a loop. All except the first few must be equal: simulations
  // extrapolate them (platform/steady_state.hpp). Collective.
  template <class Pass>
  void repeat(MPI_Comm comm, std::int64_t passes, Pass&& pass) {
    SteadyState alike(comm, passes);
    std::vector<double> settled;
    for (std::int64_t at = 0; at < alike.made(); ++at) {
      if (alike.settled(at)) alike.watch(), settled = seconds_;
      pass(at);
    }
    const double times = alike.account_for_skipped();
    for (std::size_t i = 0; i < settled.size(); ++i) seconds_[i] += times * (seconds_[i] - settled[i]);
    left_out_ = alike.words();
  }
  void reset() { std::ranges::fill(seconds_, 0.0); }
  double spent(int phase) const { return seconds_[static_cast<std::size_t>(phase)]; }  // seconds, on this rank

  // The mean over ranks of each phase, in seconds, on rank 0. Collective.
  std::vector<double> tell(Trial& t) const {
    const int count = static_cast<int>(seconds_.size());
    std::vector<double> least(seconds_.size()), mean(seconds_.size()), most(seconds_.size());
    MPI_Reduce(seconds_.data(), least.data(), count, MPI_DOUBLE, MPI_MIN, 0, t.comm());
    MPI_Reduce(seconds_.data(), mean.data(), count, MPI_DOUBLE, MPI_SUM, 0, t.comm());
    MPI_Reduce(seconds_.data(), most.data(), count, MPI_DOUBLE, MPI_MAX, 0, t.comm());
    t.note("communication", communication_);
    if (!left_out_.empty()) t.note("iterations", left_out_);
    Table& table = t.table("phase_time", "s", "lower", {{"phase", names_}, {"statistic", {"min", "mean", "max"}}});
    for (double& sum : mean) sum /= t.ranks();
    for (std::size_t i = 0; i < seconds_.size(); ++i)
      table.at({i, 0}) = least[i], table.at({i, 1}) = mean[i], table.at({i, 2}) = most[i];
    return mean;
  }

 private:
  std::vector<std::string> names_;
  std::string communication_;  // names of the communication phases
  std::string left_out_;       // text about extrapolated iterations; empty if none
  std::vector<double> seconds_;
};

}  // namespace kiviat::npb
