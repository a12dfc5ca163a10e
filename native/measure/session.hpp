// State shared by all cases of a launch.
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
  // Collective over `world`. Only tests pass `domain` and `local`, those of the global clock.
  explicit Session(MPI_Comm world, unsigned long domain = clock::domain(), GlobalClock::Reading local = clock::now);

  MPI_Comm world;
  int rank = 0, size = 1;
  double clock_cost_s;  // seconds that the slowest rank takes to read the clock
  GlobalClock global_clock;
  RankGroup group;
  double processors_per_rank;      // on the node with the fewest processors per rank
  bool oversubscribed;             // more ranks than processors on some node
  std::size_t cache_bytes;         // last-level cache, for off-cache buffers
  std::size_t memory_share_bytes;  // this rank's share of the available memory, limit of all its buffers
  double mpi_init_s = 0;           // seconds that MPI_Init took on this rank
  Instruments instruments = {};    // of this rank
  // Called on rank 0 of the members with the completed share, 0 to 1, of a long case; may be empty.
  std::function<void(double)> on_progress;

  // The launch event as JSON: MPI, compiler, and the location of each rank. Collective; complete on rank 0 only.
  std::string describe() const;
};

}  // namespace kiviat
