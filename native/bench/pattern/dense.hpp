// Dense communication: all phases of an algorithm, timed one by one, several times.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/pattern/dense_phases.hpp"
#include "bench/pattern/settings.hpp"

namespace kiviat {

class Dense {
 public:
  using PhaseOf = std::function<Phase(int phase)>;  // 1, 2, … `phases`

  Dense(Trial& t, int phases, PhaseOf phase_of)
      : t_(t),
        phases_(phases),
        phase_of_(std::move(phase_of)),
        phase_s_(seconds_of_axis(t, "phase_ms")),
        exchange_(t, bytes_of(t), Exchange::Calls::repeat, 2),
        calls_(phases),
        seconds_(phases) {}

  // Passes through all phases three times and tabulates the medians of each phase.
  void operator()() {
    for (int pass = 0; pass < passes; ++pass) {
      double each = 0, all = 0, pass_s = 0;  // bytes sent per process and by all processes; duration of a pass
      for (int phase = 0; phase < phases_; ++phase) {
        const Phase what = phase_of_(phase + 1);
        const double phase_s = seconds(what, phase, pass == 0);
        seconds_[phase].push_back(phase_s), pass_s += phase_s;
        each += per_process(what), all += total(what);
        t_.progressed(static_cast<double>(pass * phases_ + phase + 1) / (passes * phases_));
      }
      t_.report("bandwidth", each / pass_s);
      t_.report("total_bandwidth", all / pass_s);
    }
    tell();
  }

  // Bandwidth per process in a phase, counted from 1: the median over passes.
  double bandwidth(int phase) const { return per_process(phase_of_(phase)) / median(seconds_[phase - 1]); }

  // Reports the ratio of the middle phases, whose partners are farthest, to the first phase; with fewer than four ranks
  // they are the same.
  void report_middle_to_first() {
    const int ranks = phases_ + 1, below = ranks / 2, above = (ranks + 1) / 2;
    if (ranks >= 4) t_.report("middle_to_first", (bandwidth(below) + bandwidth(above)) / 2 / bandwidth(1));
  }

 private:
  static constexpr int passes = 3;

  static std::size_t bytes_of(const Trial& t) {
    if (t.bytes() == 0) throw Skip("bytes=0: empty messages have no bandwidth; give at least 1");
    return static_cast<std::size_t>(t.count());
  }

  double total(const Phase& phase) const {
    return static_cast<double>(phase.pattern.total) * static_cast<double>(t_.bytes());
  }
  double per_process(const Phase& phase) const { return total(phase) / phase.processes; }

  // Returns the seconds of one repetition of the phase.
  double seconds(const Phase& phase, int index, bool first_time) {
    const bool idle = std::ranges::all_of(phase.pattern.mine, [](const Message& m) { return m.to == MPI_PROC_NULL; });
    const auto once = [&](std::int64_t) {
      if (!idle) exchange_(phase.method);
    };
    exchange_.set(phase.pattern, t_.bytes());
    if (first_time) {
      exchange_.verify(phase.method);
      calls_[index] = t_.calls_lasting(phase_s_, 10'000, once, idle);
    } else {
      once(0);  // one untimed call reloads the caches after other phases
    }
    return t_.seconds_of(calls_[index], once, idle) / static_cast<double>(calls_[index]);
  }

  void tell() {
    std::vector<std::string> names;
    for (int phase = 1; phase <= phases_; ++phase) names.push_back(std::to_string(phase));
    Table& each = t_.table("bandwidth", "B/s", "higher", {{"phase", names}});
    Table& all = t_.table("total_bandwidth", "B/s", "higher", {{"phase", names}});
    Table& steps = t_.table("steps", "1", "lower", {{"phase", names}});
    for (int phase = 1; phase <= phases_; ++phase) {
      const std::size_t row = phase - 1;
      const Phase what = phase_of_(phase);
      each.at({row}) = bandwidth(phase);
      all.at({row}) = total(what) / median(seconds_[phase - 1]);
      steps.at({row}) = what.steps;
    }
    t_.report("bandwidth_min", std::ranges::min(each.values));
    t_.report("bandwidth_max", std::ranges::max(each.values));
  }

  Trial& t_;
  int phases_;
  PhaseOf phase_of_;
  double phase_s_;
  Exchange exchange_;
  std::vector<std::int64_t> calls_;
  std::vector<std::vector<double>> seconds_;
};

// Metrics common to the four benchmarks, followed by `more`.
inline std::vector<Quantity> dense_reports(std::vector<Quantity> more = {}) {
  more.insert(more.begin(),
              {{"bandwidth", "B/s", "higher", "bytes sent per process and second, over all phases"},
               {"total_bandwidth", "B/s", "higher", "bytes sent by all processes per second, over all phases"},
               {"bandwidth_min", "B/s", "higher", "per process, of the slowest phase"},
               {"bandwidth_max", "B/s", "higher", "per process, of the fastest phase"}});
  return more;
}

inline Quantity middle_to_first() {
  return {"middle_to_first", "1", "higher",
          "bandwidth of the phases with the farthest partners, relative to the first phase"};
}

inline std::vector<Axis> dense_axes(std::vector<Axis> more = {}) {
  more.push_back({"phase_ms", "10", "ms", "duration of each phase, in each of three passes", milliseconds_bounds});
  return more;
}

}  // namespace kiviat
