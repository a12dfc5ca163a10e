// Loops whose iterations ("passes") have the same costs and messages in the same order, such as time steps.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>

namespace kiviat {

// Real machines run every pass. Simulations without payload run the first passes only, and extrapolate time and message
// counts from the last of them, which saves minutes for programs with hundreds of steps. Use: loop over made() passes,
// call watch() before pass p if settled(p), and account_for_skipped() after the loop.
class SteadyState {
 public:
  // The first `filling` passes fill the pipelines; the next `watched` passes represent all others.
  SteadyState(MPI_Comm comm, std::int64_t passes, std::int64_t filling = 16, std::int64_t watched = 16);

  std::int64_t made() const { return made_; }  // number of passes to execute
  // Returns whether `pass` is the first of the watched ones.
  bool settled(std::int64_t pass) const { return made_ < passes_ && pass == settled_; }
  void watch();
  // Advances time and message counts by the skipped passes. Returns skipped passes / watched passes: the caller adds
  // this fraction of what its own sums have gained since watch(). Returns 0 if no pass was skipped. Collective.
  double account_for_skipped();
  std::string words() const;  // "32 of 400 simulated, …"; empty if no pass was skipped

 private:
  MPI_Comm comm_;
  std::int64_t passes_, made_, settled_ = 0, watched_ = 0;
  double since_s_ = 0;
  // Messages sent by this rank before watch(); in simulations only.
  struct Before;
  std::shared_ptr<const Before> before_;
};

}  // namespace kiviat
