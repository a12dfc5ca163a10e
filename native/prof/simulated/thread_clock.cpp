// Clock of processor time, which profiles use to report the cost of merging. It is not in platform/simgrid, because
// simulated benchmarks must not read real clocks.
#include <ctime>

#include "platform/clock.hpp"

namespace kiviat::clock {

std::int64_t thread_ns() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

}  // namespace kiviat::clock
