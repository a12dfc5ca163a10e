#include "platform/rank_group.hpp"

#include <unistd.h>

namespace kiviat {

RankGroup::RankGroup(MPI_Comm comm) : comm_(comm) {}

bool RankGroup::silent() { return false; }

void RankGroup::barrier() const { MPI_Barrier(comm_); }

// Uses MPI_Ibarrier, because MPI_Barrier may spin: idle ranks test it between sleeps. All ranks must call the same
// function.
void RankGroup::barrier(bool idle) const {
  MPI_Request request;
  MPI_Ibarrier(comm_, &request);
  if (idle) {
    for (int done = 0; !done; usleep(300)) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  } else {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

double RankGroup::maximum(double value) const {
  double found;
  MPI_Allreduce(&value, &found, 1, MPI_DOUBLE, MPI_MAX, comm_);
  return found;
}

void RankGroup::broadcast(void* data, std::size_t bytes) const {
  MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, comm_);
}

void RankGroup::gather(const void* mine, std::size_t bytes, void* all) const {
  MPI_Gather(mine, static_cast<int>(bytes), MPI_BYTE, all, static_cast<int>(bytes), MPI_BYTE, 0, comm_);
}

}  // namespace kiviat
