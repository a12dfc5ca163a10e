// Messages from rank to rank, and how long they are under way, where the machine counts them: on modelled ones.
#pragma once

#include <cstddef>
#include <vector>

#include "platform/rank_group.hpp"

namespace kiviat {

// From rank r to rank s at [r * ranks + s]. How long at least one message from or to rank r was under way, in seconds:
// between nodes at [2 * r], within its node at [2 * r + 1]. Empty where nobody counts.
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
  static constexpr int most_ranks = 64;  // a table of more is longer than anyone reads

  explicit MessageCounter(const Assembly& assembly);  // collective

  // On rank 0: all that have set out so far, with those that collective operations are made of, and their times until
  // now.
  MessageCount now() const;

 private:
  std::vector<const void*> places_;  // of ranks, on rank 0
};

}  // namespace kiviat
