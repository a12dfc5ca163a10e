// Passes of a loop that are all alike: the same costs and messages in the same order, as the time steps of a solver
// are.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>

namespace kiviat {

// A machine that is there makes them all. A modelled one, where messages carry nothing, makes the first, whereupon time
// passes and messages are counted as if the others did what the last of these do: for a program with hundreds of steps
// that is the difference between seconds and minutes of simulation.
class Alike {
 public:
  // Of a model's passes `filling` are made until pipelines are full, and `watched` for the others to follow.
  Alike(MPI_Comm comm, std::int64_t passes, std::int64_t filling = 16, std::int64_t watched = 16);

  std::int64_t made() const { return made_; }  // how many passes are made
  // Whether those that are left out are to be as the passes from this one on: what they do has settled.
  bool settled(std::int64_t pass) const { return made_ < passes_ && pass == settled_; }
  void watch();
  // How many times what was done since watch() is to be added for those that are left out; for time and messages it is
  // done. Collective.
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
