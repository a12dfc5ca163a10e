#include "virtual_mpi.hpp"

#include <mpi.h>

#include <algorithm>

namespace kiviat::test {

VirtualMpi& virtual_mpi() {
  static VirtualMpi here;
  return here;
}

}  // namespace kiviat::test

namespace {

using kiviat::test::virtual_mpi;

void count(int to, int bytes) {
  if (to != MPI_PROC_NULL) ++virtual_mpi().messages, virtual_mpi().bytes += bytes;
}

double seconds(int other, int bytes, MPI_Datatype type, MPI_Comm comm) {
  if (!virtual_mpi().seconds || type != MPI_BYTE || other == MPI_PROC_NULL) return 0;
  int me;
  PMPI_Comm_rank(comm, &me);
  return virtual_mpi().seconds(me, other, bytes);
}

}  // namespace

extern "C" {

// The linker's --wrap redirects calls of kiviat::clock::now() outside platform/native/clock.cpp to the second of these
// functions.
double __real__ZN6kiviat5clock3nowEv();
double __wrap__ZN6kiviat5clock3nowEv() {
  return virtual_mpi().seconds ? virtual_mpi().clock_s : __real__ZN6kiviat5clock3nowEv();
}

int MPI_Send(const void* out, int number, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  virtual_mpi().clock_s += seconds(to, number, type, comm);
  return PMPI_Send(out, number, type, to, tag, comm);
}

int MPI_Recv(void* in, int number, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  virtual_mpi().clock_s += seconds(from, number, type, comm);
  return PMPI_Recv(in, number, type, from, tag, comm, status);
}

int MPI_Sendrecv(const void* out, int out_number, MPI_Datatype out_type, int to, int out_tag, void* in, int number,
                 MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  count(to, out_number);
  virtual_mpi().clock_s += std::max(seconds(to, out_number, out_type, comm), seconds(from, number, type, comm));
  return PMPI_Sendrecv(out, out_number, out_type, to, out_tag, in, number, type, from, tag, comm, status);
}

int MPI_Isend(const void* out, int number, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  count(to, number);
  return PMPI_Isend(out, number, type, to, tag, comm, request);
}

int MPI_Alltoallv(const void* out, const int numbers[], const int displacements[], MPI_Datatype type, void* in,
                  const int in_numbers[], const int in_displacements[], MPI_Datatype in_type, MPI_Comm comm) {
  int ranks;
  PMPI_Comm_size(comm, &ranks);
  for (int rank = 0; rank < ranks; ++rank)
    if (numbers[rank] > 0) count(rank, numbers[rank]);
  return PMPI_Alltoallv(out, numbers, displacements, type, in, in_numbers, in_displacements, in_type, comm);
}

}  // extern "C"
