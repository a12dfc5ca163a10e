// State that all cases of a launch share.
#pragma once

#include <mpi.h>

#include <functional>
#include <string>

#include "meters/instruments.hpp"
#include "platform/global_clock.hpp"
#include "platform/node.hpp"
#include "platform/rank_group.hpp"

namespace kiviat {

struct Session {
  explicit Session(MPI_Comm world);

  MPI_Comm world;
  int rank = 0, size = 1;
  double clock_cost_s;
  GlobalClock global_clock;
  Assembly assembly;
  double processors_per_rank;      // on the node that has the fewest
  bool oversubscribed;             // more ranks than processors on some node
  std::size_t cache_bytes;         // last-level cache, for off-cache buffers
  std::size_t memory_share_bytes;  // this rank's share of the memory available, for one buffer
  Instruments instruments = {};    // of this rank
  // Told on rank 0 of the members how much of a long case is done, 0 to 1; may be empty.
  std::function<void(double)> on_progress;

  // The launch event: who we are, where each rank runs. Collective; the text is complete on rank 0.
  std::string describe() const;
};

}  // namespace kiviat
