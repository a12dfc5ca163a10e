// MPI as the benchmarks see it, with two things between: what is sent is counted, and time can be that of a
// fabricated network instead of the machine's.
#pragma once

#include <cstdint>
#include <functional>

namespace kiviat::test {

struct VirtualMpi {
  std::int64_t messages = 0, bytes = 0;  // sent by this rank in MPI_Sendrecv, MPI_Isend and MPI_Alltoallv
  // Seconds of a message of MPI_BYTE between two ranks. Where it is given, kiviat::clock::now() counts these alone:
  // each rank's own messages, in MPI_Send, MPI_Recv and MPI_Sendrecv.
  std::function<double(int me, int other, int bytes)> seconds = nullptr;
  double clock_s = 0;
};

// Of this rank; tests set it back.
VirtualMpi& virtual_mpi();

}  // namespace kiviat::test
