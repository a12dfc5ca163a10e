// Classes of SimGrid's MPI for which it has no header: of each the functions that are called here, or that stand for its own
// (sim/leaders.cpp).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

namespace simgrid::smpi {

class Group {
 public:
  long actor(int rank) const;
  int rank(long actor) const;
  int incl(int size, const int* ranks, MPI_Group* made) const;
};

class Comm {
 public:
  Comm(MPI_Group group, std::shared_ptr<Topo> topology, bool of_nodes, int id);
  MPI_Group group();
  int size() const;
  int rank() const;
  bool is_smp_comm() const;
  void ref();
  void set_leaders_comm(MPI_Comm leaders);
  MPI_Comm get_leaders_comm() const;
  MPI_Comm find_intra_comm(int* leader);

  // Ours.
  void init_smp();
  int* get_leaders_map() const;
  MPI_Comm get_intra_comm() const;
  bool is_blocked() const;

 private:
  std::byte room_[4096];  // for all that SimGrid has there, with room to spare
};

// Messages of its own, whose tags are negative.
class Request {
 public:
  static void send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
  static void recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status);
};

}  // namespace simgrid::smpi
