// Ranks that agree on starts and on figures, beside the messages that are measured.
#pragma once

#include <mpi.h>

#include <memory>

namespace kiviat {

class Assembly {
 public:
  // Collective over `comm`, which is not copied.
  explicit Assembly(MPI_Comm comm);

  // Returns when all have called it. Ranks that are idle sleep meanwhile, and leave processor and memory
  // to the others; then all say whether they are.
  void meet() const;
  void meet(bool idle) const;
  MPI_Comm comm() const { return comm_; }
  // The greatest value of all ranks.
  double most(double value) const;

 private:
  MPI_Comm comm_;
  // Of the simulator, where all ranks live in one process: what they share, and how often this one has called most(),
  // itself or by a copy.
  struct Common;
  Common* common_ = nullptr;
  std::shared_ptr<long> turn_;
};

}  // namespace kiviat
