// Counts by phase: hardware counters of this rank, and energy of its node if this rank reads it. They are
// optional (KIVIAT_COUNTERS), because each MPI_Pcontrol then takes some system calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "meters/counters.hpp"
#include "meters/energy.hpp"

namespace kiviat::prof {

class Phases {
 public:
  // `energy` is null where another rank reads it.
  Phases(std::unique_ptr<CounterSource> counters, std::unique_ptr<energy::Reader> energy);
  // Leaves the one before; 0 is none.
  void enter(int phase);
  // One JSON object: `seconds`, `counters` and, where this rank reads it, `energy`; words say what is unavailable, and
  // why.
  std::string json() const;

 private:
  struct Phase {
    int number;
    double seconds = 0;
    counters::Counted counted = {};
    energy::Spent spent = {};
  };
  void leave();
  Phase& phase(int number);
  std::string energy_json() const;

  std::unique_ptr<CounterSource> counters_;
  std::unique_ptr<energy::Reader> energy_;
  std::vector<Phase> phases_;
  int now_ = 0;
  double entered_s_ = 0;
};

}  // namespace kiviat::prof
