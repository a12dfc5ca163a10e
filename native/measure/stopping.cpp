#include "measure/stopping.hpp"

#include <algorithm>
#include <vector>

namespace kiviat {

std::optional<const char*> stop_reason(const Limits& limits, const Reservoir& samples, double elapsed_s) {
  if (samples.count() >= limits.min_samples) {
    std::vector<double> sorted(samples.kept().begin(), samples.kept().end());
    std::ranges::sort(sorted);
    const double median = quantile(sorted, 0.5);
    if (const auto interval = median_interval(sorted);
        interval && std::max(interval->high - median, median - interval->low) <= limits.target * median)
      return "target";
  }
  if (elapsed_s >= limits.budget_s) return "budget";
  if (samples.count() >= limits.max_samples) return "samples";
  return std::nullopt;
}

std::size_t next_block(const Limits& limits, std::size_t taken, double sample_s, double elapsed_s) {
  // Ranks spend about this long between two blocks, waiting for the common start and combining their times, so a
  // shorter block would mostly wait.
  constexpr double between_s = 100e-6;
  const std::size_t worth = sample_s > 0 ? static_cast<std::size_t>(std::min(between_s / sample_s, 64.0)) : 0;
  const std::size_t wanted =
      std::max(worth, taken < limits.min_samples ? limits.min_samples - taken : std::max<std::size_t>(8, taken / 2));
  const double left_s = std::max(0.0, limits.budget_s - elapsed_s);
  const double affordable = sample_s > 0 ? left_s / sample_s + 1 : 1e9;
  constexpr std::size_t most = 4096;  // samples that a rank stores before they are reduced
  const std::size_t bound = limits.max_samples > taken ? std::min(limits.max_samples - taken, most) : 1;
  return std::max<std::size_t>(1, std::min({wanted, bound, static_cast<std::size_t>(std::min(affordable, 1e9))}));
}

}  // namespace kiviat
