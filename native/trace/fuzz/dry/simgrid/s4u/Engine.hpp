// Simulator whose clock never advances, for the fuzzer of the trace reader.
#pragma once

namespace simgrid::s4u {

struct Engine {
  static double get_clock() { return 0; }
};

}  // namespace simgrid::s4u
