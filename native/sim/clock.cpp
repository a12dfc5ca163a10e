// Simulated time. Reading it takes none.
#include "core/clock.hpp"

#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Engine.hpp>

#include <ctime>

namespace kiviat::clock {

double now() { return simgrid::s4u::Engine::get_clock(); }

double cost() { return 0; }

#undef clock_gettime  // SimGrid's headers have one that tells simulated time
std::int64_t thread_ns() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

double wait_until(double time_s) {
  simgrid::s4u::this_actor::sleep_until(time_s);
  return now();
}

const char* name() { return "simulated"; }

unsigned long domain() { return 0; }

}  // namespace kiviat::clock
