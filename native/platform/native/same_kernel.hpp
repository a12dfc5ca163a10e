// The ranks that run under the same kernel. They share its processors and memory even if they are on different nodes,
// as on emulated clusters and in several containers on one host.
#pragma once

#include <mpi.h>

#include <climits>

#include "platform/clock.hpp"

namespace kiviat::host {

struct SameKernel {
  // Collective over `world`.
  explicit SameKernel(MPI_Comm world) {
    // Colours of a split are positive integers, so one split cannot tell all kernels apart.
    MPI_Comm half;
    int order;
    MPI_Comm_rank(world, &order);
    MPI_Comm_split(world, static_cast<int>(kernel & INT_MAX), order, &half);
    MPI_Comm_split(half, static_cast<int>(kernel >> 32 & INT_MAX), order, &comm);
    MPI_Comm_free(&half);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
  }
  ~SameKernel() { MPI_Comm_free(&comm); }
  SameKernel(const SameKernel&) = delete;
  SameKernel& operator=(const SameKernel&) = delete;

  const unsigned long kernel = clock::domain();
  MPI_Comm comm;
  int rank, ranks;
};

}  // namespace kiviat::host
