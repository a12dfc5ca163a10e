#include "results/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ranked_test.hpp"
#include "support/random.hpp"

using namespace kiviat;

namespace {

// Probability that at most k of n fair coins show heads, summed term by term.
double at_most(int k, int n) {
  double sum = 0;
  for (int i = 0; i <= k; ++i)
    sum += std::exp(std::lgamma(n + 1.) - std::lgamma(i + 1.) - std::lgamma(n - i + 1.) - n * std::log(2.));
  return sum;
}

// The interval [x_low, x_(n-1-low)] misses the median if at most `low` samples lie on one side of it.
double coverage(int low, int n) { return 1 - 2 * at_most(low, n); }

}  // namespace

RANKED_TEST(median_interval_covers_95_percent, 1) {
  for (int n = 6; n <= 1200; n += n < 100 ? 1 : 37) {
    std::vector<double> positions(n);
    std::iota(positions.begin(), positions.end(), 0);
    const auto interval = median_interval(positions);
    EXPECT(interval.has_value());
    const int low = static_cast<int>(interval->low);
    EXPECT(interval->high == n - 1 - low);
    EXPECT(coverage(low, n) >= 0.949);
    EXPECT(coverage(low + 2, n) < 0.95);  // not wider than necessary
  }
}

RANKED_TEST(median_interval_needs_six_samples, 1) {
  EXPECT(!median_interval(std::vector<double>{1, 2, 3, 4, 5}));
  EXPECT(median_interval(std::vector<double>{1, 2, 3, 4, 5, 6})->low == 1);
}

RANKED_TEST(quantiles_interpolate, 1) {
  const std::vector<double> sorted = {1, 2, 4, 8};
  EXPECT(quantile(sorted, 0) == 1);
  EXPECT(quantile(sorted, 1) == 8);
  EXPECT(quantile(sorted, 0.5) == 3);
  EXPECT(median({8, 2, 4, 1}) == 3);
  EXPECT(median({8, 1, 4}) == 4);
  EXPECT(std::abs(quantile(sorted, 0.9) - 6.8) < 1e-12);  // R: quantile(c(1, 2, 4, 8), 0.9, type = 7)
  EXPECT(quantile(std::vector<double>{7}, 0.99) == 7);
}

RANKED_TEST(reservoir_is_exact_where_it_can_be, 1) {
  Reservoir reservoir(100);
  unsigned long long state = 3;
  double sum = 0, least = 1e9, most = -1e9;
  constexpr std::size_t values = 10'000;
  for (std::size_t i = 0; i < values; ++i) {
    const double value = static_cast<double>(next_random(state) % 1'000'000) - 5e5;
    reservoir.add(value);
    sum += value, least = std::min(least, value), most = std::max(most, value);
    EXPECT(reservoir.complete() == (i < 100));
  }
  EXPECT(reservoir.count() == values);
  EXPECT(reservoir.kept().size() == 100);
  EXPECT(std::abs(reservoir.mean() - sum / values) < 1e-6);
  EXPECT(reservoir.min() == least);
  EXPECT(reservoir.max() == most);
}

RANKED_TEST(reservoir_keeps_the_order_until_full, 1) {
  Reservoir reservoir(4);
  for (const double value : {-3., -1., -2.}) reservoir.add(value);
  EXPECT(std::ranges::equal(reservoir.kept(), std::vector<double>{-3, -1, -2}));
  EXPECT(reservoir.min() == -3);
  EXPECT(reservoir.max() == -1);  // not 0, which was never added
}

RANKED_TEST(reservoir_is_uniform, 1) {
  // Values 0 … 99,999 in order: each tenth must be equally represented among the 20,000 kept. A tenth's count has a
  // standard deviation of 38; the tolerance is 5 of them.
  constexpr int values = 100'000, kept = 20'000;
  Reservoir reservoir(kept);
  for (int i = 0; i < values; ++i) reservoir.add(i);
  std::vector<int> tenths(10);
  for (const double value : reservoir.kept()) ++tenths[static_cast<int>(value) / (values / 10)];
  for (const int count : tenths) EXPECT(std::abs(count - kept / 10) < 190);
}
