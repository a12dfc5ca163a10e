// The processor's time, which a profile needs to say what merging costs. No benchmark that is simulated may read it: it
// is here and not in native/sim.
#include <ctime>

#include "platform/clock.hpp"

namespace kiviat::clock {

std::int64_t thread_ns() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

}  // namespace kiviat::clock
