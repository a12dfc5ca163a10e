// Summaries of samples within one launch.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace kiviat {

// Distribution-free 95 % interval of the median: order statistics whose ranks follow from the normal approximation of
// the binomial distribution. Empty with fewer than six samples, because no pair of order statistics then covers 95 %.
struct Interval {
  double low, high;
};
std::optional<Interval> median_interval(std::span<const double> sorted);

// Quantile q in [0, 1] by linear interpolation between order statistics (Hyndman and Fan, type 7).
double quantile(std::span<const double> sorted, double q);

// The quantile 0.5 of values in any order; there must be some.
double median(std::vector<double> values);

// Bounded sample: keeps all values up to its capacity, and a uniform random subset beyond (Vitter, "Random sampling
// with a reservoir", algorithm R). Count, mean, minimum and maximum remain exact.
class Reservoir {
 public:
  explicit Reservoir(std::size_t capacity = 1u << 16) : capacity_(capacity) {}

  void add(double value);
  std::size_t count() const { return count_; }
  double mean() const { return mean_; }
  double min() const { return min_; }
  double max() const { return max_; }
  std::span<const double> kept() const { return values_; }  // in order of arrival until full
  bool complete() const { return count_ == values_.size(); }

 private:
  std::size_t capacity_, count_ = 0;
  double mean_ = 0, min_ = 0, max_ = 0;
  unsigned long long state_ = 0x9e3779b97f4a7c15ull;
  std::vector<double> values_;
};

}  // namespace kiviat
