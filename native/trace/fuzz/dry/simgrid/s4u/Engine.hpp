// A simulator whose clock stands still, for the fuzzer of the replayer's reader.
#pragma once

namespace simgrid::s4u {

struct Engine {
  static double get_clock() { return 0; }
};

}  // namespace simgrid::s4u
