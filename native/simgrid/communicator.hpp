// Declares internal classes of SMPI, for which SimGrid installs no header: only the functions that are called or
// overridden here (simgrid/smpi_overrides/leaders.cpp).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

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

  // Overridden in leaders.cpp.
  void init_smp();
  int* get_leaders_map() const;
  MPI_Comm get_intra_comm() const;
  bool is_blocked() const;

 private:
  std::byte room_[4096];  // more than SimGrid's members need, because SimGrid's constructor initialises it
};

// Messages inside SMPI's collectives; their negative tags cannot match the program's messages.
class Request {
 public:
  static void send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
  static void recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status);
  static void sendrecv(const void* sent, int count, MPI_Datatype type, int to, int tag, void* received,
                       int receive_count, MPI_Datatype receive_type, int from, int receive_tag, MPI_Comm comm,
                       MPI_Status* status);
  static MPI_Request isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
  static MPI_Request irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm);
  static int waitall(int count, MPI_Request* requests, MPI_Status* statuses);
};

class Op {
 public:
  void apply(const void* in, void* into, const int* count, MPI_Datatype type) const;
};

class Datatype {
 public:
  // Copies without simulated time.
  static int copy(const void* from, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype to_type);
};

}  // namespace simgrid::smpi

namespace kiviat::sim {

// Returns the SimGrid actor of each rank.
inline std::vector<int> actors_of(simgrid::smpi::Comm& comm) {
  std::vector<int> actors(static_cast<std::size_t>(comm.size()));
  for (int rank = 0; int& actor : actors) actor = static_cast<int>(comm.group()->actor(rank++));
  return actors;
}

// Creates a communicator of `ranks` of `comm`, in this order, without messages; all members share the object.
inline MPI_Comm part(simgrid::smpi::Comm& comm, const std::vector<int>& ranks) {
  MPI_Group group;
  comm.group()->incl(static_cast<int>(ranks.size()), ranks.data(), &group);
  return new simgrid::smpi::Comm(group, nullptr, true, MPI_UNDEFINED);
}

}  // namespace kiviat::sim
