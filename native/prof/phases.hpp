// Hardware counters of this rank by phase (MPI_Pcontrol), and energy of its node if this rank reads it. Enabled by
// KIVIAT_COUNTERS, because they add some system calls to each MPI_Pcontrol.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "meters/counters.hpp"
#include "meters/energy.hpp"

namespace kiviat::prof {

class Phases {
 public:
  // `energy` is null if another rank of the node reads it.
  Phases(std::unique_ptr<CounterSource> counters, std::unique_ptr<energy::Reader> energy);
  // Leaves the current phase and enters another; 0 stops counting.
  void enter(int phase);
  // Returns a JSON object with `phases`, `seconds`, `counters` and, if this rank reads it, `energy` (J, W). Their
  // `words` name the sources, or the reason why values are unavailable.
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
