#include "simgrid/smpi_overrides/shared_memory.hpp"

#include <deque>
#include <map>
#include <memory>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Semaphore.hpp>
#include <tuple>
#include <utility>

#include "simgrid/communicator.hpp"
#include "simgrid/smpi_overrides/elements.hpp"

namespace {

namespace s4u = simgrid::s4u;
using kiviat::sim::bytes_of;
using kiviat::sim::Elements;
using simgrid::smpi::Datatype;

kiviat::sim::SharedMemory costs;

// Vectors that one rank has put into the segment for another, which has not read them yet; oldest first.
struct Cell {
  s4u::SemaphorePtr flags = s4u::Semaphore::create(0);
  std::deque<std::shared_ptr<Elements>> vectors;

  void put(std::shared_ptr<Elements> vector) {
    vectors.push_back(std::move(vector));
    flags->release();
  }
  std::shared_ptr<Elements> take() {
    flags->acquire();
    const std::shared_ptr<Elements> vector = vectors.front();
    vectors.pop_front();
    return vector;
  }
};

// Returns the cell of a pair of ranks of a communicator.
Cell& cell(MPI_Comm here, int from, int to) {
  static std::map<std::tuple<MPI_Comm, int, int>, Cell> cells;
  return cells[{here, from, to}];
}

std::shared_ptr<Elements> copied(const void* data, int count, MPI_Datatype type) {
  auto copy = std::make_shared<Elements>(count, type);
  Datatype::copy(data, count, type, copy->data(), count, type);
  return copy;
}

double copy_s(int count, MPI_Datatype type) { return static_cast<double>(bytes_of(count, type)) / costs.bytes_per_s; }

}  // namespace

void kiviat::sim::share_memory(const SharedMemory& given) { costs = given; }

bool kiviat::sim::in_shared_memory(double bytes) { return bytes <= costs.largest_bytes; }

void kiviat::sim::reduce_in_memory(const void* send, void* into, int count, MPI_Datatype type, MPI_Op op, int root,
                                   MPI_Comm here) {
  const int rank = here->rank();
  const double each_s = copy_s(count, type);
  s4u::this_actor::sleep_for(each_s);
  if (rank != root) {
    cell(here, rank, root).put(copied(send, count, type));
    return;
  }
  s4u::this_actor::sleep_for(costs.latency_s);
  Datatype::copy(send, count, type, into, count, type);
  for (int from = 0; from < here->size(); ++from) {
    if (from == root) continue;
    const std::shared_ptr<Elements> vector = cell(here, from, root).take();
    s4u::this_actor::sleep_for(costs.flag_s + each_s);
    if (op != MPI_OP_NULL) op->apply(vector->data(), into, &count, type);
  }
}

void kiviat::sim::bcast_in_memory(void* data, int count, MPI_Datatype type, int root, MPI_Comm here) {
  const int rank = here->rank();
  const double each_s = copy_s(count, type);
  if (rank != root) {
    const std::shared_ptr<Elements> vector = cell(here, root, rank).take();
    s4u::this_actor::sleep_for(costs.latency_s + each_s);
    Datatype::copy(vector->data(), count, type, data, count, type);
    return;
  }
  s4u::this_actor::sleep_for(each_s);
  const std::shared_ptr<Elements> vector = copied(data, count, type);
  for (int to = 0; to < here->size(); ++to)
    if (to != root) cell(here, root, to).put(vector);
}

void kiviat::sim::barrier_in_memory(MPI_Comm here) {
  char none = 0;
  reduce_in_memory(&none, &none, 0, MPI_BYTE, MPI_OP_NULL, 0, here);
  bcast_in_memory(&none, 0, MPI_BYTE, 0, here);
}
