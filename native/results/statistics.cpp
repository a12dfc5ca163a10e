#include "results/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "support/random.hpp"

namespace kiviat {

std::optional<Interval> median_interval(std::span<const double> sorted) {
  const double n = static_cast<double>(sorted.size());
  if (sorted.size() < 6) return std::nullopt;
  const double reach = 0.98 * std::sqrt(n);  // 1.96 sqrt(n) / 2
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor((n - 1) / 2 - reach)));
  const auto high = sorted.size() - 1 - low;
  return Interval{sorted[low], sorted[high]};
}

double quantile(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  if (below + 1 >= sorted.size()) return sorted.back();
  return std::lerp(sorted[below], sorted[below + 1], position - static_cast<double>(below));
}

double median(std::vector<double> values) {
  const auto upper = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, upper);
  return values.size() % 2 ? *upper : std::lerp(*std::max_element(values.begin(), upper), *upper, 0.5);
}

void Reservoir::add(double value) {
  min_ = count_ ? std::min(min_, value) : value;
  max_ = count_ ? std::max(max_, value) : value;
  ++count_;
  mean_ += (value - mean_) / static_cast<double>(count_);
  if (values_.size() < capacity_) {
    values_.push_back(value);
  } else if (const auto slot = next_random(state_) % count_; slot < capacity_) {
    values_[slot] = value;
  }
}

}  // namespace kiviat
