// Use of the processors by other programs during each case of a launch.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "measure/session.hpp"
#include "platform/activity.hpp"

namespace kiviat {

// Extremes over the ranks and machines of a launch during a case; NaN where they are unknown:
// `others` and `steal` within the first second of a launch, `wait` of ranks that outnumber processors.
struct Activity {
  double elapsed_s;   // period of all of these: the last second before the end of the case, or more if that is longer
  double processors;  // that the ranks may use, on the machine of `others`
  double others;      // time of these that other processes used, in processors, on the machine with most
  double steal;       // share of the time wanted by programs that the hypervisor took, on the machine with most
  double wait;        // share of the period for which a rank was ready to run but had no processor, of the worst rank
  double switches;    // involuntary context switches of all ranks during the case
  std::string json() const;
};

// Turns readings at the ends of cases into the activity between them. Clocks of machines are not compared.
class ActivityHistory {
 public:
  // The first readings, of all ranks.
  explicit ActivityHistory(const std::vector<host::Reading>& readings);
  // The activity since the last readings.
  Activity add(const std::vector<host::Reading>& readings);

 private:
  struct Machine {
    double at_s = 0, busy_s = 0, steal_s = 0, own_s = 0, helpers_s = 0, processors = 0;
    int ranks = 0;
  };
  struct Boundary {
    std::vector<Machine> machines;
    std::vector<double> waited_s;
    double switches = 0;
  };
  Boundary boundary_of(const std::vector<host::Reading>& readings) const;

  std::vector<std::size_t> machine_of_;  // of each rank
  std::size_t machines_ = 0;
  std::deque<Boundary> boundaries_;  // oldest first
};

// Gathers the readings of all ranks on rank 0.
class ActivityMeter {
 public:
  // Collective, like next().
  explicit ActivityMeter(const Session& session);
  // The activity since construction or the last call as JSON; "null" in simulations and on other ranks than 0.
  std::string next();

 private:
  std::vector<host::Reading> gathered() const;

  const Session& session_;
  host::ActivityReader reader_;
  std::optional<ActivityHistory> history_;  // of rank 0
};

}  // namespace kiviat
