// Simulated ranks live in one process, and one of them runs at a time: they synchronise through memory, without
// messages and in no simulated time.
#include "platform/rank_group.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Barrier.hpp>

#include "simgrid/sent.hpp"

namespace kiviat {

struct RankGroup::Common {
  simgrid::s4u::BarrierPtr barrier;
  // Maxima of the last three calls of maximum(), used in turn: a slot is reset one call before its reuse, when all
  // ranks have read it.
  double most[3] = {-INFINITY, -INFINITY, -INFINITY};
  void* of_root = nullptr;  // rank 0's buffer in broadcast() and gather()
};

// Common is never freed: no rank knows whether it is the last to use it.
RankGroup::RankGroup(MPI_Comm comm) : comm_(comm), turn_(std::make_shared<long>(0)) {
  int size;
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &size);
  if (rank_ == 0) common_ = new Common{simgrid::s4u::Barrier::create(static_cast<unsigned>(size))};
  auto address = reinterpret_cast<std::uintptr_t>(common_);
  // Distributes the address along a binomial tree, because SMPI's MPI_Bcast may send P * P messages.
  constexpr int tag = 7713;
  for (int told = 1; told < size; told *= 2) {
    if (rank_ < told && rank_ + told < size) MPI_Send(&address, sizeof address, MPI_BYTE, rank_ + told, tag, comm);
    if (rank_ >= told && rank_ < 2 * told)
      MPI_Recv(&address, sizeof address, MPI_BYTE, rank_ - told, tag, comm, MPI_STATUS_IGNORE);
  }
  common_ = reinterpret_cast<Common*>(address);
}

bool RankGroup::silent() { return true; }

void RankGroup::barrier() const {
  common_->barrier->wait();
  simgrid::s4u::this_actor::get_host()->get_data<Sent>()->partner = nullptr;
}

void RankGroup::barrier(bool) const { barrier(); }

double RankGroup::maximum(double value) const {
  const long turn = (*turn_)++;
  common_->most[(turn + 1) % 3] = -INFINITY;
  double& found = common_->most[turn % 3];
  found = std::max(found, value);
  barrier();
  return found;
}

void RankGroup::broadcast(void* data, std::size_t bytes) const {
  if (rank_ == 0) common_->of_root = data;
  barrier();
  if (rank_ != 0) std::memcpy(data, common_->of_root, bytes);
  barrier();
}

void RankGroup::gather(const void* mine, std::size_t bytes, void* all) const {
  if (rank_ == 0) common_->of_root = all;
  barrier();
  std::memcpy(static_cast<char*>(common_->of_root) + static_cast<std::size_t>(rank_) * bytes, mine, bytes);
  barrier();
}

}  // namespace kiviat
