// Clock of the simulation. Reading it takes no simulated time.
#include "platform/clock.hpp"

#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Engine.hpp>

namespace kiviat::clock {

double now() { return simgrid::s4u::Engine::get_clock(); }

double cost() { return 0; }

double wait_until(double time_s) {
  sleep_until(time_s);
  return now();
}

void sleep_until(double time_s) { simgrid::s4u::this_actor::sleep_until(time_s); }

const char* name() { return "simulated"; }

unsigned long domain() { return 0; }

}  // namespace kiviat::clock
