// Host processor overhead and application availability: W. Lawry, R. Riesen and R. Brightwell at Sandia; D. Doerfler
// and R. Brightwell, "Measuring MPI Send and Receive Overhead and Application Availability in High Performance
// Network Interfaces", EuroPVM/MPI 2006. The method alone: what sends, works and reads the clock is a Machine.
//
// A turn of the loop is a barrier, a message and work beside it. Little work hides behind the message. Once the turn
// lasts longer, what it takes beyond the same turn without the message is what the message cost the processor.
//
// Two biases of the method are corrected. Its base time holds a barrier, which the overhead does not, so that its
// availability reads high; and the base time holds the first, small amounts of work, up to the threshold. Ours is
// compared with the turn that has no work at all, less the turn of the same loop that has a barrier only. The figure as
// the method has it stands beside it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kiviat {

struct OverheadSettings {
  double base = 0.02;  // turns that are less than this slower, relative to the base time, still count towards it
  double stop = 0.5;   // a turn that is this much slower ends the growth of the work
  // A loop is long for the clock, and short enough that few loops lose a processor that others want too.
  double loop_s = 1e-4;
  double point_s = 10e-3;  // time for the loops of one point: three at least,
  double long_s = 0.1;     // unless one takes longer than this
};

// Times of one turn: with the message, and with barrier and work alone.
struct OverheadPoint {
  std::int64_t steps;
  double message_s, work_s;
};

struct Overhead {
  std::vector<OverheadPoint> points;  // work grows; the last one is beyond the stop
  double base_s = 0;                  // of the method: with the barrier
  double barrier_s = 0;               // a turn with neither message nor work
  double message_s = 0;               // a turn without work, less the barrier

  double overhead_s() const { return points.back().message_s - points.back().work_s; }
  double availability_uncorrected() const { return 1 - overhead_s() / base_s; }
  // Not a number where the message takes no longer than the barrier that it follows.
  double availability() const { return message_s > 0 ? 1 - overhead_s() / message_s : NAN; }
};

// The machine has now(), slowest(seconds) over the ranks, seconds_per_step() of work, and the parts of a turn: post()
// before the barrier, barrier(), start(), work(steps), finish().
template <class Machine>
class OverheadMeasurement {
 public:
  OverheadMeasurement(Machine& machine, OverheadSettings settings) : machine_(machine), settings_(settings) {}

  // One message, without work.
  void once() {
    machine_.post();
    machine_.barrier();
    machine_.start();
    machine_.finish();
  }

  // Once through the method. The amounts of work are the same each time. Collective.
  Overhead operator()() {
    Overhead found;
    if (turn_s_ == 0) turn_s_ = std::max(loop(0, true, 1), loop(0, true, 2));
    const OverheadPoint none = point(0);
    found.barrier_s = none.work_s, found.message_s = none.message_s - none.work_s;
    if (first_steps_ == 0)
      first_steps_ =
          std::max<std::int64_t>(1, std::llround(none.message_s * first_share / machine_.seconds_per_step()));
    int count = 0;
    for (std::int64_t steps = first_steps_; static_cast<int>(found.points.size()) < most_points; steps *= 2) {
      const double seconds = found.points.emplace_back(point(steps)).message_s;
      if (count == 0 || seconds < (1 + settings_.base) * found.base_s)
        found.base_s += (seconds - found.base_s) / ++count;
      if (seconds > (1 + settings_.stop) * found.base_s) break;
    }
    return found;
  }

 private:
  static constexpr double first_share = 1.0 / 256;  // of a turn: the first amount of work
  static constexpr int most_points = 40;
  static constexpr std::int64_t most_turns = 10'000;
  static constexpr int most_loops = 11;

  // Medians: a loop in which a rank lost its processor neither ends the growth nor is the overhead. Loops with and
  // without the message alternate, so that a drift of the machine meets both.
  OverheadPoint point(std::int64_t steps) {
    const std::int64_t turns = std::clamp<std::int64_t>(std::llround(settings_.loop_s / turn_s_), 1, most_turns);
    const double loop_s = static_cast<double>(turns) * turn_s_;
    const double least_loops = loop_s < settings_.long_s ? 3 : 1;
    const int loops =
        static_cast<int>(std::clamp(settings_.point_s / loop_s, least_loops, static_cast<double>(most_loops))) | 1;
    std::vector<double> with, without;
    for (int i = 0; i < loops; ++i) {
      with.push_back(loop(steps, true, turns));
      without.push_back(loop(steps, false, turns));
    }
    const auto median = [](std::vector<double>& of) {
      std::ranges::nth_element(of, of.begin() + of.size() / 2);
      return of[of.size() / 2];
    };
    const OverheadPoint found{steps, median(with), median(without)};
    turn_s_ = std::max(found.message_s, 1e-9);
    return found;
  }

  // The turns of the method, but the clock starts behind the first barrier and stops behind the last: a message that
  // its sender is rid of before it has arrived counts in full, however few the turns.
  double loop(std::int64_t steps, bool message, std::int64_t turns) {
    if (message) machine_.post();
    machine_.barrier();
    const double start_s = machine_.now();
    for (std::int64_t left = turns; left > 0; --left) {
      if (message) machine_.start();
      machine_.work(steps);
      if (message) machine_.finish();
      if (message && left > 1) machine_.post();
      machine_.barrier();
    }
    return machine_.slowest(machine_.now() - start_s) / static_cast<double>(turns);
  }

  Machine& machine_;
  OverheadSettings settings_;
  double turn_s_ = 0;  // the last one measured: how many make a loop
  std::int64_t first_steps_ = 0;
};

}  // namespace kiviat
