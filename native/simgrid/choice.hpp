// Chooses between Kiviat's code and SimGrid's (max_min.cpp, detached.cpp). Kiviat's needs the layout of version 3.32.
// KIVIAT_SOLVER=simgrid selects SimGrid's code; KIVIAT_SOLVER=kiviat ends a simulation that would need it.
#pragma once

#include <simgrid/engine.h>
#include <simgrid/version.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace kiviat::sim {

struct Choice {
  bool usable, demanded;

  Choice() {
    int major = 0, minor = 0, patch = 0;
    sg_version_get(&major, &minor, &patch);
    const char* const given = std::getenv("KIVIAT_SOLVER");
    const std::string_view wanted = given ? given : "";
    usable = major == 3 && minor == 32 && wanted != "simgrid";
    demanded = wanted == "kiviat";
  }

  // SimGrid's code is used now. Ends the simulation if Kiviat's was demanded.
  void fall_back(const char* why) const {
    if (!demanded) return;
    std::fprintf(stderr, "KIVIAT_SOLVER=kiviat: %s; leave it out\n", why);
    std::_Exit(1);
  }
};

}  // namespace kiviat::sim
