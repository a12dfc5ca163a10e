#include "platform/message_counter.hpp"

#include <algorithm>
#include <simgrid/s4u/Actor.hpp>

#include "platform/clock.hpp"
#include "simgrid/sent.hpp"

namespace kiviat {

using simgrid::s4u::Host;

MessageCounter::MessageCounter(const RankGroup& group) {
  int rank, ranks;
  MPI_Comm_rank(group.comm(), &rank);
  MPI_Comm_size(group.comm(), &ranks);
  if (ranks > most_ranks) return;
  places_.resize(rank == 0 ? static_cast<std::size_t>(ranks) : 0);
  Host* host = simgrid::s4u::this_actor::get_host();
  host->get_data<Sent>()->counted = true;
  const void* mine = host;
  group.gather(&mine, sizeof mine, places_.data());
  // Messages are counted by core, so ranks that share a core cannot be told apart.
  std::vector<const void*> sorted = places_;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) places_.clear();
}

MessageCount MessageCounter::now() const {
  MessageCount count;
  for (const void* place : places_) {
    const auto* sent = static_cast<const Host*>(place)->get_data<Sent>();
    count.under_way_s.insert(count.under_way_s.end(),
                             {sent->network.until(clock::now()), sent->node.until(clock::now())});
  }
  for (const void* from : places_)
    for (const void* to : places_) {
      const auto& sent = static_cast<const Host*>(from)->get_data<Sent>()->to;
      const auto found = sent.find(static_cast<const Host*>(to));
      count.messages.push_back(found == sent.end() ? 0 : found->second.messages);
      count.bytes.push_back(found == sent.end() ? 0 : found->second.bytes);
    }
  return count;
}

}  // namespace kiviat
