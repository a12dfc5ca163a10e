// Energy sources and hardware counters of this process, opened when the first kernel is measured.
#pragma once

#include <memory>

#include "meters/energy.hpp"
#include "platform/counter_source.hpp"

namespace kiviat {

struct Instruments {
  std::unique_ptr<energy::Reader> energy;  // only on the rank that reads for its node
  std::unique_ptr<CounterSource> counters;

  energy::Reader& reader() {
    if (!energy) energy = std::make_unique<energy::Reader>(energy::find_sources(energy::usual_places()));
    return *energy;
  }
  CounterSource& counter_source() {
    if (!counters) counters = open_counters();
    return *counters;
  }
};

}  // namespace kiviat
