// What the ranks of a core have sent, and how long messages of theirs were under way. The platform leaves it with the
// core, a host of SimGrid, as its data, and counts where somebody wants to know: pairs of very many cores would take
// more memory than all the rest.
#pragma once

#include <simgrid/s4u/Host.hpp>
#include <unordered_map>

namespace kiviat {

// Time during which at least one of several messages was in flight: overlapping ones count once.
class UnderWay {
 public:
  void begin(double now_s) {
    if (messages_++ == 0) since_s_ = now_s;
  }
  void end(double now_s) {
    if (--messages_ == 0) seconds_ += now_s - since_s_;
  }
  double until(double now_s) const { return messages_ > 0 ? seconds_ + now_s - since_s_ : seconds_; }
  // As if it had been so long until now. Messages that are under way remain so.
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
  UnderWay network, node;  // from here or to here: between nodes, and within this one
};

}  // namespace kiviat
