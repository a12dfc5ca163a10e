// A group of ranks that synchronises and exchanges results separately from the messages being measured.
#pragma once

#include <mpi.h>

#include <climits>
#include <cstddef>
#include <memory>
#include <string>

namespace kiviat {

class RankGroup {
 public:
  // Collective over `comm`, which is not copied.
  explicit RankGroup(MPI_Comm comm);

  // Returns whether the group works without messages (in simulations), so that measured code needs no separate
  // communicator.
  static bool silent();
  // Barriers over all ranks of the group. In the second form `idle` ranks sleep while they wait, leaving processor and
  // memory to the others; all ranks must use the same form.
  void barrier() const;
  void barrier(bool idle) const;
  MPI_Comm comm() const { return comm_; }
  // Returns the maximum of `value` over all ranks, on every rank.
  double maximum(double value) const;
  // Broadcasts from rank 0.
  void broadcast(void* data, std::size_t bytes) const;
  // Gathers the data of each rank, in order, into `all` of rank 0.
  void gather(const void* mine, std::size_t bytes, void* all) const;

 private:
  MPI_Comm comm_;
  // Used by simulations, where all ranks live in one process: their shared state, and the number of calls of maximum()
  // by this rank, counted across copies of this object.
  struct Common;
  Common* common_ = nullptr;
  int rank_ = 0;  // set in simulations only
  std::shared_ptr<long> turn_;
};

// Broadcasts the text of the lowest rank whose `mine` is not empty, cut to 511 characters; returns "" if all are empty.
// Collective.
inline std::string first_said(MPI_Comm comm, const std::string& mine) {
  int rank, first;
  MPI_Comm_rank(comm, &rank);
  const int me = mine.empty() ? INT_MAX : rank;
  MPI_Allreduce(&me, &first, 1, MPI_INT, MPI_MIN, comm);
  if (first == INT_MAX) return "";
  char words[512] = {};
  mine.copy(words, sizeof words - 1);
  MPI_Bcast(words, sizeof words, MPI_CHAR, first, comm);
  return words;
}

}  // namespace kiviat
