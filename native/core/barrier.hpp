// A barrier in which idle ranks sleep instead of spinning on memory and processors that others are
// measured on.
#pragma once

#include <mpi.h>
#include <unistd.h>

namespace kiviat {

// MPI's own barrier may spin, so that the ranks that are not idle take part in the non-blocking one too.
inline void wait_for_all(MPI_Comm comm, bool idle) {
  MPI_Request request;
  MPI_Ibarrier(comm, &request);
  if (idle) {
    for (int done = 0; !done; usleep(300)) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  } else {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

}  // namespace kiviat
