// What the ranks of a core have sent. The platform counts, and leaves the count with the core, a host of SimGrid, as its data.
#pragma once

#include <simgrid/s4u/Host.hpp>

#include <unordered_map>

namespace kiviat {

struct Sent {
  struct Total {
    double messages = 0, bytes = 0;
  };
  std::unordered_map<const simgrid::s4u::Host*, Total> to;
};

}  // namespace kiviat
