// Passes of a loop that are all alike: the same costs and messages in the same order, as the time steps of a solver
// are.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>

namespace kiviat {

// Real machines run every pass. Simulated machines without payload run the first passes; then time passes and
// messages are counted as if the others repeated the last of these. For a program with hundreds of steps this
// saves minutes of simulation.
class Alike {
 public:
  // Of the passes of a simulation, `filling` fill the pipelines, and the others repeat the next `watched`.
  Alike(MPI_Comm comm, std::int64_t passes, std::int64_t filling = 16, std::int64_t watched = 16);

  std::int64_t made() const { return made_; }  // how many passes are made
  // Returns whether `pass` is the first of those that the passes left out are assumed to repeat.
  bool settled(std::int64_t pass) const { return made_ < passes_ && pass == settled_; }
  void watch();
  // Returns how many times to add what was done since watch() for the passes left out; time and messages are already
  // adjusted. Collective.
  double leave_out();
  std::string words() const;  // empty where none is left out

 private:
  MPI_Comm comm_;
  std::int64_t passes_, made_, settled_ = 0, watched_ = 0;
  double since_s_ = 0;
  // What this rank had sent by then, told to the simulator only.
  struct Before;
  std::shared_ptr<const Before> before_;
};

}  // namespace kiviat
