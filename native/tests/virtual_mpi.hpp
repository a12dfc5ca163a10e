// Wrapped MPI for tests: counts what is sent, and can replace real time by the time of a fabricated network.
#pragma once

#include <cstdint>
#include <functional>

namespace kiviat::test {

struct VirtualMpi {
  std::int64_t messages = 0, bytes = 0;  // sent by this rank in MPI_Sendrecv, MPI_Isend and MPI_Alltoallv
  // Time in seconds of a message of MPI_BYTE between two ranks. If set, kiviat::clock::now() advances only by these
  // times, for each rank's own messages in MPI_Send, MPI_Recv and MPI_Sendrecv.
  std::function<double(int me, int other, int bytes)> seconds = nullptr;
  double clock_s = 0;
};

// State of this rank; tests must reset it.
VirtualMpi& virtual_mpi();

}  // namespace kiviat::test
