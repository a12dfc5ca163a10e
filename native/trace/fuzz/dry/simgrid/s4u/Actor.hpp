// Actor whose computation takes no time, for the fuzzer of the trace reader.
#pragma once

#include "simgrid/s4u/Host.hpp"

namespace simgrid::s4u::this_actor {

inline Host* get_host() {
  static Host host;
  return &host;
}
inline void execute(double) {}

}  // namespace simgrid::s4u::this_actor
