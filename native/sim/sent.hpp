// What the ranks of a core have sent. The platform leaves it with the core, a host of SimGrid, as its data, and counts where
// somebody wants to know: pairs of very many cores would take more memory than all the rest.
#pragma once

#include <simgrid/s4u/Host.hpp>

#include <unordered_map>

namespace kiviat {

struct Sent {
  struct Total {
    double messages = 0, bytes = 0;
  };
  bool counted = false;
  std::unordered_map<const simgrid::s4u::Host*, Total> to;
};

}  // namespace kiviat
