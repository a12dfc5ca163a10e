// Simulated ranks live in one process, one of them running at a time: they meet without messages, in no time.
#include "core/assembly.hpp"

#include <simgrid/s4u/Barrier.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace kiviat {

struct Assembly::Common {
  simgrid::s4u::BarrierPtr barrier;
  // A value is read after the meeting that follows its writing; then two more meetings pass before it is written again.
  double most[3] = {-INFINITY, -INFINITY, -INFINITY};
};

// Lives as long as the simulation: nobody can say who is the last to leave.
Assembly::Assembly(MPI_Comm comm) : comm_(comm), turn_(std::make_shared<long>(0)) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (rank == 0) common_ = new Common{simgrid::s4u::Barrier::create(static_cast<unsigned>(size))};
  auto address = reinterpret_cast<std::uintptr_t>(common_);
  MPI_Bcast(&address, sizeof address, MPI_BYTE, 0, comm);
  common_ = reinterpret_cast<Common*>(address);
}

void Assembly::meet() const { common_->barrier->wait(); }

void Assembly::meet(bool) const { meet(); }

double Assembly::most(double value) const {
  const long turn = (*turn_)++;
  common_->most[(turn + 1) % 3] = -INFINITY;
  double& found = common_->most[turn % 3];
  found = std::max(found, value);
  meet();
  return found;
}

}  // namespace kiviat
