// A clock common to all ranks: maps local readings to those of rank 0.
//
// Ranks that share a clock (clock::domain) need no estimate. Between domains, the offset is estimated from the quickest
// of several round trips, along a binomial tree of one leader per domain. A line is fitted through the latest
// estimates, which follows the drift (Hunold and Carpen-Amarie, "On the Impact of Synchronizing Clocks and Processes on
// Benchmarking MPI Collectives", EuroMPI 2015).
#pragma once

#include <mpi.h>

#include <vector>

#include "platform/clock.hpp"

namespace kiviat {

class GlobalClock {
 public:
  using Reading = double (*)();

  // Collective over `comm`. Only tests pass `domain` and `local`.
  explicit GlobalClock(MPI_Comm comm, unsigned long domain = clock::domain(), Reading local = clock::now);
  ~GlobalClock();
  GlobalClock(const GlobalClock&) = delete;
  GlobalClock& operator=(const GlobalClock&) = delete;

  // Estimates the offset again if the last estimate is older than `age_s` seconds; during the first seconds, when the
  // drift is not well known, more often. Collective.
  void refresh(double age_s = 2.0);

  // Conversion between readings of the local clock and the global time, in seconds.
  double to_global(double local_s) const { return local_s + offset_at(local_s); }
  double to_local(double global_s) const;
  double last_s() const { return last_; }  // local time of the latest estimate
  // Returns whether all ranks read the same clock, so that offsets are 0.
  bool shared() const { return shared_; }

 private:
  struct Estimate {
    double local_s;
    double offset_s;
    double trip_s;  // round-trip time; the error is at most half of it
  };
  double offset_at(double local_s) const { return offset_ + drift_ * (local_s - reference_); }
  Estimate offset_to_parent(int parent);
  void answer_child(int child);
  void fit(const Estimate& latest);

  MPI_Comm comm_;
  MPI_Comm node_ = MPI_COMM_NULL;     // ranks of one clock domain
  MPI_Comm leaders_ = MPI_COMM_NULL;  // rank 0 of each domain; null elsewhere
  Reading local_;
  bool shared_ = false;
  double started_, last_ = 0;
  std::vector<Estimate> estimates_;
  double offset_ = 0, drift_ = 0, reference_ = 0;
};

}  // namespace kiviat
