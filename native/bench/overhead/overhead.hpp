// Host processor overhead and application availability: W. Lawry, R. Riesen and R. Brightwell at Sandia; D. Doerfler
// and R. Brightwell, "Measuring MPI Send and Receive Overhead and Application Availability in High Performance
// Network Interfaces", EuroPVM/MPI 2006. Only the method: communication, work and clock are those of a Machine.
//
// An iteration is a barrier, a message and concurrent work. A small amount of work is hidden behind the message. Once
// the iteration takes longer, its excess over the same iteration without the message is the overhead, the processor
// time that the message costs.
//
// Two biases of the method are corrected. Its base time contains a barrier, which the overhead does not, so its
// availability is too high; and it contains the first, small amounts of work, up to the threshold. Here the overhead
// is compared with an iteration without work, less one with the barrier only. The original figure is reported too.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kiviat {

struct OverheadSettings {
  double base = 0.02;  // an iteration at most this much slower than the base time counts towards it
  double stop = 0.5;   // an iteration this much slower ends the growth of work
  // Loops are long compared with the clock's resolution, and short enough that few of them are interrupted by other
  // programs.
  double loop_s = 1e-4;
  double point_s = 10e-3;  // total time of the loops of one point, which are at least three,
  double long_s = 0.1;     // unless a single loop takes longer than this
};

// Times of one iteration: with the message, and with barrier and work only.
struct OverheadPoint {
  std::int64_t steps;
  double message_s, work_s;
};

struct Overhead {
  std::vector<OverheadPoint> points;  // in order of growing work; the last point exceeds the stop
  double base_s = 0;                  // base time of the original method, including the barrier
  double barrier_s = 0;               // an iteration with a barrier only
  double message_s = 0;               // an iteration with barrier and message, minus barrier_s

  double overhead_s() const { return points.back().message_s - points.back().work_s; }
  double availability_uncorrected() const { return 1 - overhead_s() / base_s; }
  // Processor availability during a message; NaN if the message takes no longer than the barrier before it.
  double availability() const { return message_s > 0 ? 1 - overhead_s() / message_s : NAN; }
};

// Machine provides now(), slowest(seconds) over the ranks, seconds_per_step() of work, and the parts of an iteration:
// post() before the barrier, barrier(), start(), work(steps), finish().
template <class Machine>
class OverheadMeasurement {
 public:
  OverheadMeasurement(Machine& machine, OverheadSettings settings) : machine_(machine), settings_(settings) {}

  // Executes one message, without work.
  void once() {
    machine_.post();
    machine_.barrier();
    machine_.start();
    machine_.finish();
  }

  // Executes the method once; repetitions use the same amounts of work. Collective.
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
  static constexpr double first_share = 1.0 / 256;  // first amount of work, as share of the duration of an iteration
  static constexpr int most_points = 40;
  static constexpr std::int64_t most_turns = 10'000;
  static constexpr int most_loops = 11;

  // Medians over loops, so that an interrupted loop neither ends the growth of work nor counts as overhead. Loops with
  // and without the message alternate, so that drift affects both alike.
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

  // Time per iteration in seconds, measured from the first barrier to the last, so that a buffered message is complete
  // even with few iterations.
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
  double turn_s_ = 0;  // last measured duration of an iteration, which determines the number of iterations of a loop
  std::int64_t first_steps_ = 0;
};

}  // namespace kiviat
