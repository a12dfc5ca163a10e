// Messages between pairs of ranks and their time in flight; available on simulated machines only.
#pragma once

#include <cstddef>
#include <vector>

#include "platform/rank_group.hpp"

namespace kiviat {

// Messages and bytes from rank r to rank s at [r * ranks + s]. `under_way_s`: seconds with at least one message from or
// to rank r in flight, between nodes at [2 * r], within its node at [2 * r + 1]. Empty if unavailable.
struct MessageCount {
  std::vector<double> messages, bytes, under_way_s;

  void add(const MessageCount& end, const MessageCount& begin) {
    add(messages, end.messages, begin.messages);
    add(bytes, end.bytes, begin.bytes);
    add(under_way_s, end.under_way_s, begin.under_way_s);
  }

 private:
  static void add(std::vector<double>& sums, const std::vector<double>& end, const std::vector<double>& begin) {
    sums.resize(end.size());
    for (std::size_t at = 0; at < sums.size(); ++at) sums[at] += end[at] - begin[at];
  }
};

class MessageCounter {
 public:
  static constexpr int most_ranks = 64;  // limit of the table's size, for readability

  explicit MessageCounter(const RankGroup& group);  // collective

  // On rank 0: counts of all messages sent so far, including those of collective operations; empty on other ranks.
  MessageCount now() const;

 private:
  std::vector<const void*> places_;  // SimGrid host of each rank, on rank 0
};

}  // namespace kiviat
