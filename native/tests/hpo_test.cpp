// The method of host processor overhead on a fake machine, whose clock advances only by its own operations.
#include <cmath>
#include <initializer_list>

#include "bench/overhead/overhead.hpp"
#include "ranked_test.hpp"

using namespace kiviat;

namespace {

// A message occupies the processor for `overhead_s` of its `message_s`; the rest passes while the processor works or
// waits. Without overlap (`progresses` false) the whole message takes place during the wait. A machine that buffers
// completes the send immediately; its peer reaches the barrier when the message has arrived.
struct FakeMachine {
  double message_s, overhead_s, barrier_s;
  bool progresses = true, buffers = false;
  double step_s = 3e-9;
  double hiccup_s = 0;  // every `every`-th iteration takes this much longer
  int every = 1000;

  double clock_s = 0, arrives_s = 0;
  long turns = 0, messages = 0;
  std::vector<double> loops;

  void post() {}
  void barrier() { clock_s = std::max(clock_s, arrives_s) + barrier_s; }
  void start() {
    ++messages;
    if (progresses) clock_s += overhead_s, arrives_s = clock_s + message_s - overhead_s;
  }
  void work(std::int64_t steps) {
    clock_s += static_cast<double>(steps) * step_s;
    if (++turns % every == 0) clock_s += hiccup_s;
  }
  void finish() {
    if (!progresses)
      clock_s += message_s;
    else if (!buffers)
      clock_s = std::max(clock_s, arrives_s);
  }
  double now() const { return clock_s; }
  double slowest(double seconds) { return loops.emplace_back(seconds); }
  double seconds_per_step() const { return step_s; }
};

bool near(double a, double b, double relative = 1e-6) {
  return std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b)) + 1e-15;
}

Overhead of(FakeMachine machine, OverheadSettings settings = {}) { return OverheadMeasurement(machine, settings)(); }

}  // namespace

RANKED_TEST(overhead_is_recovered_whatever_the_barrier_takes, 1) {
  for (const double message_s : {2e-6, 300e-6, 50e-3})
    for (const double barrier_s : {0.0, 0.5e-6, 40e-6, 5e-3})
      for (const double share : {0.0, 0.1, 0.5, 0.95})
        for (const bool buffers : {false, true}) {
          const Overhead found =
              of({.message_s = message_s, .overhead_s = share * message_s, .barrier_s = barrier_s, .buffers = buffers});
          EXPECT(near(found.message_s, message_s));
          EXPECT(near(found.barrier_s, barrier_s));
          EXPECT(std::abs(found.overhead_s() - share * message_s) < 1e-6 * (message_s + barrier_s));
          EXPECT(std::abs(found.availability() - (1 - share)) < 1e-5 * (1 + barrier_s / message_s));
        }
}

RANKED_TEST(a_machine_without_overlap_has_no_availability, 1) {
  for (const double barrier_s : {0.0, 1e-6, 1e-3}) {
    const Overhead found = of({.message_s = 100e-6, .overhead_s = 0, .barrier_s = barrier_s, .progresses = false});
    EXPECT(near(found.overhead_s(), 100e-6));
    EXPECT(std::abs(found.availability()) < 1e-5);
  }
}

RANKED_TEST(the_uncorrected_availability_reads_high_as_published, 1) {
  // Without overlap the availability is 0; with a barrier as long as the message the uncorrected method yields one
  // half.
  const Overhead none = of({.message_s = 100e-6, .overhead_s = 0, .barrier_s = 100e-6, .progresses = false});
  EXPECT(std::abs(none.availability_uncorrected() - 0.5) < 0.01);
  // If the method's base time contains the message only, only the bias by its small amounts of work remains.
  const Overhead alone = of({.message_s = 100e-6, .overhead_s = 0, .barrier_s = 0, .progresses = false});
  EXPECT(alone.availability_uncorrected() > 0);
  EXPECT(alone.availability_uncorrected() < 0.02);
  const Overhead half = of({.message_s = 100e-6, .overhead_s = 50e-6, .barrier_s = 300e-6});
  EXPECT(near(half.availability_uncorrected(), 1 - 50.0 / 400, 1e-4));
  EXPECT(near(half.base_s, 400e-6, 1e-4));
}

RANKED_TEST(work_doubles_until_a_turn_is_half_as_long_again, 1) {
  for (const bool progresses : {true, false})
    for (const double stop : {0.5, 2.0}) {
      const Overhead found =
          of({.message_s = 80e-6, .overhead_s = 8e-6, .barrier_s = 5e-6, .progresses = progresses}, {.stop = stop});
      const auto& points = found.points;
      EXPECT(points.size() >= 5);
      double sum = 0;
      int count = 0;
      for (std::size_t i = 0; i < points.size(); ++i) {
        if (i > 0) EXPECT(points[i].steps == 2 * points[i - 1].steps);
        EXPECT((points[i].message_s > (1 + stop) * found.base_s) == (i + 1 == points.size()));
        // Literal implementation of the definition: mean of the iterations less than 2 % above the mean so far.
        if (count == 0 || points[i].message_s < 1.02 * sum / count) sum += points[i].message_s, ++count;
      }
      EXPECT(near(found.base_s, sum / count));
    }
}

RANKED_TEST(a_processor_lost_in_some_loops_changes_nothing, 1) {
  // One iteration in 70 takes 2 ms longer, and thus about one loop in three: a loop has about 25 iterations of 4 µs.
  FakeMachine machine{.message_s = 3e-6, .overhead_s = 1e-6, .barrier_s = 1e-6, .hiccup_s = 2e-3, .every = 70};
  const Overhead found = of(machine);
  EXPECT(near(found.overhead_s(), 1e-6));
  EXPECT(near(found.message_s, 3e-6));
}

RANKED_TEST(loops_last_as_long_as_they_should, 1) {
  // Loops are long enough for the clock, but have no more iterations than needed if one takes long.
  FakeMachine quick{.message_s = 1e-6, .overhead_s = 0.2e-6, .barrier_s = 1e-6};
  OverheadMeasurement measure(quick, OverheadSettings{.loop_s = 1e-3, .point_s = 1});
  measure();
  for (std::size_t i = 2; i < quick.loops.size(); i += 2) {
    EXPECT(quick.loops[i] > 0.4e-3);
    EXPECT(quick.loops[i] < 2.5e-3);
  }
  FakeMachine slow{.message_s = 0.3, .overhead_s = 0.01, .barrier_s = 1e-3};
  OverheadMeasurement(slow, OverheadSettings{})();
  EXPECT(slow.turns < 40);
}

RANKED_TEST(the_amounts_of_work_are_the_same_in_each_repetition, 1) {
  FakeMachine machine{.message_s = 20e-6, .overhead_s = 5e-6, .barrier_s = 2e-6};
  OverheadMeasurement measure(machine, OverheadSettings{});
  const Overhead first = measure();
  machine.message_s = 60e-6;
  const Overhead second = measure();
  for (std::size_t i = 0; i < first.points.size(); ++i) EXPECT(first.points[i].steps == second.points[i].steps);
  EXPECT(second.points.size() > first.points.size());
}
