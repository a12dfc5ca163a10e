// Messages sent by the ranks of a core, and the time with messages in flight. The platform attaches it to the core's
// SimGrid host, and counts only if `counted` is set: a table of all pairs of cores may need much memory.
#pragma once

#include <simgrid/s4u/Host.hpp>
#include <unordered_map>

namespace kiviat {

// Total time during which at least one message was in flight; overlapping messages count once.
class UnderWay {
 public:
  void begin(double now_s) {
    if (messages_++ == 0) since_s_ = now_s;
  }
  void end(double now_s) {
    if (--messages_ == 0) seconds_ += now_s - since_s_;
  }
  double until(double now_s) const { return messages_ > 0 ? seconds_ + now_s - since_s_ : seconds_; }
  // Sets the total up to now to `seconds`; messages in flight stay in flight.
  void reset(double seconds, double now_s) { seconds_ = seconds, since_s_ = now_s; }

 private:
  int messages_ = 0;
  double since_s_ = 0, seconds_ = 0;
};

struct Sent {
  struct Total {
    double messages = 0, bytes = 0;
  };
  bool counted = false;
  std::unordered_map<const simgrid::s4u::Host*, Total> to;
  UnderWay network, node;  // of messages from or to this core: between nodes, and within its node

  // Three times, set whether or not messages are counted: when the core has finished sending its last message, when
  // this message arrives on an idle machine, and when it stops delaying messages that cross it (platform.cpp).
  double busy_until_s = 0, arrives_s = 0, crosses_until_s = 0;
  // until then messages that exceed the cache occupy the core's share of memory bandwidth
  double memory_until_s = 0;
  double working_set_bytes = 0;                 // bytes of buffers of the current collective; 0 outside of collectives
  bool from_memory = false;                     // no message is in the cache (host::sends_from_memory)
  const simgrid::s4u::Host* partner = nullptr;  // of the last message between nodes; none since ranks started together
};

}  // namespace kiviat
