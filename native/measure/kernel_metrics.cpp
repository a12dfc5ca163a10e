#include "measure/kernel_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "platform/clock.hpp"
#include "platform/node.hpp"
#include "support/failure.hpp"

namespace kiviat {
namespace {

struct Who {
  unsigned long machine;  // equal on ranks that share processors and meters, even in different containers
  int sockets;
  char node[sizeof host::Place::node], host[sizeof host::Place::host];
};

// Gathers the texts of all ranks on rank 0. Collective.
std::vector<std::string> gathered(const RankGroup& group, int rank, int ranks, const std::string& mine) {
  const auto longest = static_cast<std::size_t>(group.maximum(static_cast<double>(mine.size()))) + 1;
  std::vector<char> padded(longest, 0), all(rank == 0 ? longest * static_cast<std::size_t>(ranks) : 0);
  std::memcpy(padded.data(), mine.data(), mine.size());
  group.gather(padded.data(), longest, all.data());
  std::vector<std::string> texts;
  for (int other = 0; rank == 0 && other < ranks; ++other)
    texts.emplace_back(all.data() + longest * static_cast<std::size_t>(other));
  return texts;
}

}  // namespace

KernelLog::KernelLog(const RankGroup& group, Instruments& instruments, std::optional<energy::Watts> declared,
                     std::string pages)
    : group_(group),
      instruments_(instruments),
      declared_(declared),
      pages_(std::move(pages)),
      messages_(group),
      interfaces_(group) {
  MPI_Comm_rank(group.comm(), &rank_);
  MPI_Comm_size(group.comm(), &ranks_);
  const host::Place place = host::place();
  Who mine{clock::domain(), declared_ && declared_->per_socket ? energy::sockets(energy::usual_places()) : 1, {}, {}};
  std::memcpy(mine.node, place.node, sizeof mine.node), std::memcpy(mine.host, place.host, sizeof mine.host);
  std::vector<Who> all(rank_ == 0 ? static_cast<std::size_t>(ranks_) : 0);
  group_.gather(&mine, sizeof mine, all.data());

  std::vector<char> leads(static_cast<std::size_t>(ranks_), 0);
  for (int rank = 0; rank < static_cast<int>(all.size()); ++rank) {
    const Who& who = all[static_cast<std::size_t>(rank)];
    const auto same = [&](int other) {
      const Who& leader = all[static_cast<std::size_t>(other)];
      return declared_ ? std::strcmp(leader.node, who.node) == 0 : leader.machine == who.machine;
    };
    if (std::ranges::any_of(leaders_, same)) continue;
    leads[static_cast<std::size_t>(rank)] = 1;
    std::string name = who.host;
    for (int number = 2; std::ranges::find(nodes_, name) != nodes_.end(); ++number)
      name = std::string(who.host) + ' ' + std::to_string(number);
    leaders_.push_back(rank), nodes_.push_back(name), sockets_.push_back(who.sockets);
  }
  group_.broadcast(leads.data(), leads.size());
  leads_ = leads[static_cast<std::size_t>(rank_)];
  CounterSource& counters = instruments_.counter_source();
  if (leads_) counters.lead();
  counts_ = counters.any();
  meets_ = !declared_ && group_.maximum(leads_ && !instruments_.reader().sources().empty()) > 0;
}

void KernelLog::before(std::string_view kernel) {
  const auto found = std::ranges::find(kernels_, kernel, &energy::Kernel::name);
  at_ = static_cast<std::size_t>(found - kernels_.begin());
  if (found == kernels_.end())
    kernels_.push_back({std::string(kernel)}), spent_.emplace_back(), counted_.emplace_back(), carried_.emplace_back();
  if (counts_) instruments_.counter_source().prepare();
  // Waits for other ranks' unfinished work, which must not be counted for this kernel.
  if (meets_ || interfaces_.reads()) group_.barrier();
  interfaces_.before(at_);
  if (meets_ && leads_) instruments_.reader().start();
}

void KernelLog::after(double slowest_s, bool idle, bool next) {
  interfaces_.after();
  if (rank_ == 0) carried_[at_].add(messages_.now(), begun_);
  if (meets_ && leads_) {
    energy::Reader& reader = instruments_.reader();
    reader.stop();
    energy::Spent& spent = spent_[at_];
    const auto& sources = reader.sources();
    if (spent.joules.empty()) spent.joules.assign(sources.size(), 0.0), spent.trouble.resize(sources.size());
    spent.seconds += reader.seconds();
    for (std::size_t at = 0; at < sources.size(); ++at) {
      // If one repetition cannot be read, the sum is unknown.
      const auto joules = sources[at]->joules();
      if (joules && spent.joules[at])
        *spent.joules[at] += *joules;
      else
        spent.joules[at].reset();
      if (!joules || *joules <= 0) spent.trouble[at] = sources[at]->trouble();
    }
  }
  if (counts_) {
    CounterSource& source = instruments_.counter_source();
    counters::Counted& counted = counted_[at_];
    if (!idle) counted.add(source.counts());
    if (leads_)
      if (const auto traffic = source.traffic()) {
        counted.has_traffic = true;
        counted.traffic.read_bytes += traffic->read_bytes, counted.traffic.written_bytes += traffic->written_bytes;
      }
  }
  if (kernels_[at_].repetitions == 0)
    if (const auto now = pages::held(); now && (!held_ || now->anonymous_bytes > held_->anonymous_bytes)) held_ = now;
  kernels_[at_].repetitions += next, kernels_[at_].seconds += slowest_s;
}

void KernelLog::finish(Result& result) {
  std::vector<std::string> names;
  std::vector<double> repetitions;
  for (const auto& kernel : kernels_)
    names.push_back(kernel.name), repetitions.push_back(static_cast<double>(kernel.repetitions));
  if (rank_ == 0) {
    Table& time = result.tables.emplace_back("kernel_time", "s", "lower", std::vector<Table::Axis>{{"kernel", names}});
    for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel)
      time.at({kernel}) = kernels_[kernel].seconds / kernels_[kernel].repetitions;
  }
  tell_energy(result);
  tell_counters(result);
  tell_pages(result);
  if (rank_ == 0 && !carried_.empty() && !carried_.front().bytes.empty()) tell_messages(result);
  interfaces_.finish(result, names, repetitions);
}

void KernelLog::tell_energy(Result& result) {
  std::vector<energy::Account> accounts;
  if (declared_) {
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      char number[32];
      std::snprintf(number, sizeof number, "%g", declared_->watts);
      energy::Account& account = accounts.emplace_back();
      account.words = "declared: " + std::string(number) + " W per " + (declared_->per_socket ? "socket" : "node");
      if (declared_->per_socket && sockets_[node] == 0) {
        account.words = "unavailable: " + std::string(number) +
                        " W per socket are declared, but the number of sockets is unknown; declare watts per node";
        account.joules.assign(kernels_.size(), energy::Account::unknown), account.watts = account.joules;
        continue;
      }
      if (declared_->per_socket)
        account.words += ", " + std::to_string(sockets_[node]) + (sockets_[node] == 1 ? " socket" : " sockets");
      for (const auto& kernel : kernels_) {
        account.watts.push_back(declared_->watts * sockets_[node]);
        account.joules.push_back(account.watts.back() * kernel.seconds / kernel.repetitions);
      }
    }
  } else if (!meets_) {
    // No rank reads energy: report the reasons only.
    const std::vector<std::string> said =
        gathered(group_, rank_, ranks_, leads_ ? energy::account(instruments_.reader(), {}, {}).words : "");
    for (const int leader : leaders_) {
      energy::Account& account = accounts.emplace_back();
      account.words = said[static_cast<std::size_t>(leader)];
      account.joules.assign(kernels_.size(), energy::Account::unknown), account.watts = account.joules;
    }
  } else {
    const std::vector<std::string> said =
        gathered(group_, rank_, ranks_, leads_ ? energy::account(instruments_.reader(), kernels_, spent_).text() : "");
    for (const int leader : leaders_)
      accounts.push_back(energy::Account::from(said[static_cast<std::size_t>(leader)], kernels_.size()));
  }
  if (rank_ == 0) energy::tell(result, kernels_, nodes_, accounts);
}

void KernelLog::tell_counters(Result& result) {
  const std::string words = instruments_.counter_source().words();
  if (group_.maximum(counts_) <= 0) {
    if (rank_ == 0) result.note("counters", words);
    return;
  }
  const std::size_t bytes = counted_.size() * sizeof(counters::Counted);
  counters::Gathered all{
      std::vector<counters::Counted>(rank_ == 0 ? counted_.size() * static_cast<std::size_t>(ranks_) : 0), leaders_,
      nodes_};
  group_.gather(counted_.data(), bytes, all.counted.data());
  if (rank_ == 0) counters::tell(result, kernels_, all, words);
}

// Notes the requested page size and the smallest share of huge pages on any rank: the kernel may ignore the request.
void KernelLog::tell_pages(Result& result) const {
  if (!host::carries_payload()) return;
  const bool known = group_.maximum(!held_) <= 0;
  const double share = held_ && held_->anonymous_bytes > 0 ? held_->huge_bytes / held_->anonymous_bytes : 0;
  const double least = -group_.maximum(-share);
  if (rank_ != 0) return;
  result.note("pages", pages_ + (known ? ", " + std::to_string(std::lround(100 * least)) +
                                             " % of the memory in huge pages, on the rank with the smallest share"
                                       : ", share of huge pages unavailable: no /proc/self/smaps_rollup"));
}

void KernelLog::tell_messages(Result& result) const {
  std::vector<std::string> names, ranks;
  for (const auto& kernel : kernels_) names.push_back(kernel.name);
  for (int rank = 0; rank < ranks_; ++rank) ranks.push_back(std::to_string(rank));
  const std::vector<Table::Axis> axes = {{"kernel", names}, {"from", ranks}, {"to", ranks}};
  Table messages("messages", "1", "lower", axes), bytes("message_bytes", "B", "lower", axes);
  const std::size_t pairs = ranks.size() * ranks.size();
  for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel)
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      messages.values[kernel * pairs + pair] = carried_[kernel].messages[pair] / kernels_[kernel].repetitions;
      bytes.values[kernel * pairs + pair] = carried_[kernel].bytes[pair] / kernels_[kernel].repetitions;
    }
  result.tables.push_back(std::move(messages));
  result.tables.push_back(std::move(bytes));
  const std::vector<std::string> distances = {"network", "node"};
  Table under_way("under_way", "s", "lower", {{"kernel", names}, {"rank", ranks}, {"distance", distances}});
  std::vector<double> means(distances.size(), 0.0);
  for (std::size_t kernel = 0, at = 0; kernel < kernels_.size(); ++kernel)
    for (const double seconds : carried_[kernel].under_way_s) {
      under_way.values[at] = seconds / kernels_[kernel].repetitions;
      means[at % means.size()] += under_way.values[at] / ranks_;
      ++at;
    }
  result.tables.push_back(std::move(under_way));
  for (std::size_t distance = 0; distance < means.size(); ++distance)
    result.metrics.emplace_back(Metric{distances[distance] + "_time", "s", "lower", false, Reservoir()})
        .samples.add(means[distance]);
}

}  // namespace kiviat
