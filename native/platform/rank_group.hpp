// Ranks that agree on starts and on figures, beside the messages that are measured.
#pragma once

#include <mpi.h>

#include <climits>
#include <cstddef>
#include <memory>
#include <string>

namespace kiviat {

class Assembly {
 public:
  // Collective over `comm`, which is not copied.
  explicit Assembly(MPI_Comm comm);

  // Returns whether the group sends no messages, so that measured code needs no separate communicator.
  static bool silent();
  // Returns when all have called it. Ranks that are idle sleep meanwhile, and leave processor and memory
  // to the others; then all say whether they are.
  void meet() const;
  void meet(bool idle) const;
  MPI_Comm comm() const { return comm_; }
  // The greatest value of all ranks.
  double most(double value) const;
  // Broadcasts from rank 0.
  void tell(void* data, std::size_t bytes) const;
  // Gathers the data of each rank, in order, into `all` of rank 0.
  void gather(const void* mine, std::size_t bytes, void* all) const;

 private:
  MPI_Comm comm_;
  // Of the simulator, where all ranks live in one process: what they share, and how often this one has called most(),
  // itself or by a copy.
  struct Common;
  Common* common_ = nullptr;
  int rank_ = 0;  // told to the simulator only
  std::shared_ptr<long> turn_;
};

// The words of the lowest rank that has some, as far as 511 characters, to all ranks; empty if none has. Collective.
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
