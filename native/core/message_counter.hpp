// Messages from rank to rank, where the machine counts them: on modelled ones.
#pragma once

#include <cstddef>
#include <vector>

#include "core/assembly.hpp"

namespace kiviat {

// From rank r to rank s at [r * ranks + s]; empty where nobody counts.
struct MessageCount {
  std::vector<double> messages, bytes;

  void add(const MessageCount& end, const MessageCount& begin) {
    messages.resize(end.messages.size()), bytes.resize(end.bytes.size());
    for (std::size_t at = 0; at < bytes.size(); ++at)
      messages[at] += end.messages[at] - begin.messages[at], bytes[at] += end.bytes[at] - begin.bytes[at];
  }
};

class MessageCounter {
 public:
  static constexpr int most_ranks = 64;  // a table of more is longer than anyone reads

  explicit MessageCounter(const Assembly& assembly);  // collective

  // On rank 0: all that have set out so far, with those that collective operations are made of.
  MessageCount now() const;

 private:
  std::vector<const void*> places_;  // of ranks, on rank 0
};

}  // namespace kiviat
