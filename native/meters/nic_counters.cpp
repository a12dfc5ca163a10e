#include "meters/nic_counters.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>

#include "platform/node.hpp"

namespace kiviat {
namespace {

constexpr const char* variable = "KIVIAT_INTERFACE";

double counted(const std::string& path) {
  double bytes;
  return std::ifstream(path) >> bytes ? bytes : std::nan("");
}

}  // namespace

InterfaceLog::InterfaceLog(const RankGroup& group) : group_(group) {
  const char* name = std::getenv(variable);
  if (group_.maximum(name && *name ? 1 : 0) <= 0) return;
  path_ = std::string("/sys/class/net/") + (name ? name : "") + "/statistics/tx_bytes";
  MPI_Comm_rank(group_.comm(), &rank_);
  MPI_Comm_size(group_.comm(), &ranks_);
  const host::Place place = host::place();
  std::vector<host::Place> all(rank_ == 0 ? static_cast<std::size_t>(ranks_) : 0);
  group_.gather(&place, sizeof place, all.data());
  std::vector<char> read(static_cast<std::size_t>(ranks_), 0);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto same = [&](int other) {
      return std::strcmp(all[static_cast<std::size_t>(other)].node, all[rank].node) == 0;
    };
    if (std::ranges::any_of(readers_, same)) continue;
    readers_.push_back(static_cast<int>(rank));
    const std::string host = all[rank].host;
    std::string node = host;
    for (int number = 2; std::ranges::find(nodes_, node) != nodes_.end(); ++number)
      node = host + ' ' + std::to_string(number);
    nodes_.push_back(node);
  }
  // With a single node, no bytes are sent between nodes.
  if (readers_.size() > 1)
    for (const int reader : readers_) read[static_cast<std::size_t>(reader)] = 1;
  group_.broadcast(read.data(), read.size());
  mine_ = read[static_cast<std::size_t>(rank_)];
  reads_ = std::ranges::find(read, 1) != read.end();
}

void InterfaceLog::before(std::size_t kernel) {
  if (!reads_) return;
  at_ = kernel;
  if (sent_.size() <= kernel) sent_.resize(kernel + 1, 0.0);
  if (mine_) begun_ = counted(path_);
}

void InterfaceLog::after() {
  if (mine_) sent_[at_] += counted(path_) - begun_;
}

void InterfaceLog::finish(Result& result, const std::vector<std::string>& kernels,
                          const std::vector<double>& repetitions) const {
  if (!reads_ || sent_.empty()) return;
  std::vector<double> all(rank_ == 0 ? sent_.size() * static_cast<std::size_t>(ranks_) : 0);
  group_.gather(sent_.data(), sent_.size() * sizeof(double), all.data());
  if (rank_ != 0) return;
  Table table("interface_bytes", "B", "lower", {{"kernel", kernels}, {"node", nodes_}});
  for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel)
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      const double sent = all[static_cast<std::size_t>(readers_[node]) * sent_.size() + kernel];
      if (std::isnan(sent)) {
        result.note("interface_bytes",
                    "unavailable: node " + nodes_[node] + " cannot read " + path_ + "; check " + variable);
        return;
      }
      table.at({kernel, node}) = sent / repetitions[kernel];
    }
  Metric& sum = result.metrics.emplace_back(Metric{"interface_bytes", "B", "lower", false, Reservoir()});
  sum.samples.add(std::accumulate(table.values.begin(), table.values.end(), 0.0));
  result.tables.push_back(std::move(table));
}

}  // namespace kiviat
