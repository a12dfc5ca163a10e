// Host with a speed of one flop/s, for the fuzzer of the trace reader.
#pragma once

namespace simgrid::s4u {

struct Host {
  double get_speed() const { return 1; }
};

}  // namespace simgrid::s4u
