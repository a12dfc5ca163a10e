#include "measure/stopping.hpp"

#include <limits>
#include <string>

#include "ranked_test.hpp"

using namespace kiviat;

namespace {

constexpr Limits limits{.target = 0.02, .budget_s = 1, .min_samples = 16, .max_samples = 100};

std::string reason(std::size_t samples, double spread, double elapsed_s, const Limits& within = limits) {
  Reservoir values;
  for (std::size_t i = 0; i < samples; ++i)
    values.add(1 + spread * (static_cast<double>(i * 7 % samples) / samples - 0.5));
  return stop_reason(within, values, elapsed_s).value_or("goes on");
}

}  // namespace

RANKED_TEST(stops_at_the_target, 1) {
  EXPECT(reason(16, 0.01, 0) == "target");
  EXPECT(reason(15, 0.01, 0) == "goes on");  // fewer than min_samples
  EXPECT(reason(16, 1, 0) == "goes on");     // interval too wide
  // For 64 values spread evenly over s the interval of the median extends about s * 0.98 / 8 to each side.
  EXPECT(reason(64, 0.14, 0) == "target");
  EXPECT(reason(64, 0.20, 0) == "goes on");
}

RANKED_TEST(both_sides_of_the_interval_count, 1) {
  // Half of the values are equal, the other half far above: the interval of the median is wide on one side only.
  for (const double other : {2.0, 0.5}) {
    Reservoir values;
    for (int i = 0; i < 20; ++i) values.add(i < 9 ? other : 1);
    EXPECT(!stop_reason(limits, values, 0));
  }
}

RANKED_TEST(stops_at_the_budget_and_at_enough_samples, 1) {
  EXPECT(reason(20, 1, 0.99) == "goes on");
  EXPECT(reason(20, 1, 1.0) == "budget");
  EXPECT(reason(0, 1, 1.0) == "budget");
  EXPECT(reason(99, 5, 0) == "goes on");
  EXPECT(reason(100, 5, 0) == "samples");
  EXPECT(reason(100, 0.001, 2) == "target");  // "target" takes precedence
  // All samples count, also those that are not kept.
  const Limits many{.target = 0, .budget_s = 1, .min_samples = 1, .max_samples = 70'000};
  EXPECT(reason(69'999, 1, 0, many) == "goes on");
  EXPECT(reason(70'000, 1, 0, many) == "samples");
}

RANKED_TEST(blocks_stay_within_bounds, 1) {
  EXPECT(next_block(limits, 0, 1e-5, 0) == 16);  // min_samples at first
  EXPECT(next_block(limits, 10, 1e-5, 0) == 10);
  EXPECT(next_block(limits, 40, 1e-5, 0) == 20);  // then half of the number taken
  EXPECT(next_block(limits, 0, 2e-6, 0) == 50);   // short samples: as many as take the time between two blocks
  EXPECT(next_block(limits, 0, 1e-9, 0) == 64);   // but not any number
  EXPECT(next_block(limits, 90, 1e-6, 0) == 10);  // never past max_samples
  EXPECT(next_block(limits, 100, 1e-6, 0) == 1);
  EXPECT(next_block({.min_samples = 1'000'000, .max_samples = 1'000'000}, 0, 1e-9, 0) ==
         4096);                                   // limit of a rank's memory for samples
  EXPECT(next_block(limits, 0, 10, 0) == 1);      // a sample longer than the budget: one sample
  EXPECT(next_block(limits, 0, 0.25, 0.5) == 3);  // as many as the rest of the budget allows, and one more
  EXPECT(next_block(limits, 0, 1e-6, 5) >= 1);    // past the budget
  EXPECT(next_block(limits, 0, 0, 0) == 16);      // time per sample unknown
  EXPECT(next_block(limits, 0, 1e-300, 0) == 64);
  EXPECT(next_block(limits, 0, std::numeric_limits<double>::infinity(), 0) == 1);
}
