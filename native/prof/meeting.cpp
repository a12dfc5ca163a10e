#include "prof/meeting.hpp"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>

#include "platform/clock.hpp"
#include "prof/real.hpp"

namespace kiviat::prof {

static constexpr double meeting_s = 60;

void meet(int rank, const char* name) {
  MPI_Request request;
  KIVIAT_PMPI(Ibarrier)(world(), &request);
  // The first rank that has the library ends the program, usually before others print the message, too.
  const double patience = clock::now() + meeting_s + std::min(rank, 30);
  for (int here = 0; !here;) {
    KIVIAT_PMPI(Test)(&request, &here, MPI_STATUS_IGNORE);
    if (!here && clock::now() > patience) {
      std::fprintf(stderr,
                   "kiviat: the %s is not preloaded on all ranks, so the program is ended; export LD_PRELOAD to all "
                   "ranks\n",
                   name);
      // The program cannot go on: MPI does not withdraw a collective that others never begin.
      KIVIAT_PMPI(Abort)(world(), 2);
    }
    sched_yield();
  }
}

int parents() {
  MPI_Comm parent = no_comm();
  int number = 0;
  KIVIAT_PMPI(Comm_get_parent)(&parent);
  if (parent != no_comm()) KIVIAT_PMPI(Comm_remote_size)(parent, &number);
  return number;
}

}  // namespace kiviat::prof
