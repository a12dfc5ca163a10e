#include "meters/counters.hpp"

#include <algorithm>
#include <cmath>

namespace kiviat::counters {
namespace {

constexpr std::size_t most_ranks = 64;  // a record has counters by rank for at most this many ranks

}  // namespace

void Counted::add(const Counts& counts) {
  for (std::size_t name = 0; name < counts.size(); ++name) {
    if (!std::isfinite(counts[name].value)) continue;
    sums[name] += counts[name].value, ++times[name];
    least_share = std::min(least_share, counts[name].share);
  }
}

double Counted::mean(std::size_t name) const { return times[name] ? sums[name] / times[name] : NAN; }

void tell(Result& result, const std::vector<energy::Kernel>& kernels, const Gathered& gathered, std::string words) {
  const std::size_t ranks = gathered.counted.size() / kernels.size();
  const auto of = [&](std::size_t rank, std::size_t kernel) -> const Counted& {
    return gathered.counted[rank * kernels.size() + kernel];
  };
  std::vector<std::string> rows, names, numbers;
  std::vector<std::size_t> counted;
  for (const auto& kernel : kernels) rows.push_back(kernel.name);
  for (std::size_t rank = 0; rank < ranks; ++rank) numbers.push_back(std::to_string(rank));
  for (std::size_t name = 0; name < counter_names.size(); ++name)
    if (std::ranges::any_of(gathered.counted, [&](const Counted& one) { return one.times[name] > 0; }))
      counted.push_back(name), names.emplace_back(counter_names[name]);

  if (!counted.empty()) {
    Table all("counters", "1", "lower", {{"kernel", rows}, {"counter", names}, {"statistic", {"min", "mean", "max"}}});
    Table each("counters_by_rank", "1", "lower", {{"kernel", rows}, {"counter", names}, {"rank", numbers}});
    double least_share = 1;
    for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel)
      for (std::size_t at = 0; at < counted.size(); ++at) {
        double least = INFINITY, most = -INFINITY, sum = 0;
        std::size_t known = 0;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          const double value = of(rank, kernel).mean(counted[at]);
          each.at({kernel, at, rank}) = value;
          least_share = std::min(least_share, of(rank, kernel).least_share);
          if (std::isfinite(value)) least = std::min(least, value), most = std::max(most, value), sum += value, ++known;
        }
        if (!known) continue;
        all.at({kernel, at, 0}) = least, all.at({kernel, at, 1}) = sum / static_cast<double>(known),
                            all.at({kernel, at, 2}) = most;
      }
    if (least_share < 0.995)
      words += "; counters were multiplexed: each ran at least " + std::to_string(std::lround(100 * least_share)) +
               " % of the time and was scaled";
    result.tables.push_back(std::move(all));
    if (ranks <= most_ranks) result.tables.push_back(std::move(each));
  }

  Table traffic("memory_traffic", "B", "lower",
                {{"kernel", rows}, {"node", gathered.nodes}, {"direction", {"read", "write"}}});
  bool any = false;
  for (std::size_t node = 0; node < gathered.readers.size(); ++node)
    for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
      const Counted& one = of(static_cast<std::size_t>(gathered.readers[node]), kernel);
      if (!one.has_traffic) continue;
      any = true;
      traffic.at({kernel, node, 0}) = one.traffic.read_bytes / kernels[kernel].repetitions;
      traffic.at({kernel, node, 1}) = one.traffic.written_bytes / kernels[kernel].repetitions;
    }
  if (any) result.tables.push_back(std::move(traffic));
  result.note("counters", std::move(words));
}

}  // namespace kiviat::counters
