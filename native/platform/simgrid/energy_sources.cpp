// Simulated machines have no energy meters: energy follows from the power that the machine file declares.
#include "platform/energy_sources.hpp"

namespace kiviat::energy {

std::unique_ptr<Source> counter(std::string, std::string, Covers, double, Reading, double) { return nullptr; }
std::unique_ptr<Source> meter(std::string, std::string, Covers, double, Reading) { return nullptr; }
Places usual_places() { return {}; }

Found find_sources(const Places&) {
  Found found;
  found.missing.emplace_back("simulated machines have no energy meters, and the machine file declares no power.node");
  return found;
}

int sockets(const Places&) { return 0; }

}  // namespace kiviat::energy
