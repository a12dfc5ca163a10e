#include "prof/meeting.hpp"

#include <mpi.h>
#include <sched.h>

#include "platform/clock.hpp"
#include "prof/real.hpp"

namespace kiviat::prof {

// Timeout of the barrier: ranks without the preloaded library never join it.
static constexpr double meeting_s = 60;

bool all_are_here() {
  MPI_Request request;
  KIVIAT_PMPI(Ibarrier)(world(), &request);
  const double patience = clock::now() + meeting_s;
  for (int here = 0;;) {
    KIVIAT_PMPI(Test)(&request, &here, MPI_STATUS_IGNORE);
    if (here) return true;
    if (clock::now() > patience) return false;
    sched_yield();
  }
}

}  // namespace kiviat::prof
