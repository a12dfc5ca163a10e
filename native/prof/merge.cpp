#include "prof/merge.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include "prof/packed.hpp"
#include "prof/profiler.hpp"
#include "prof/real.hpp"

namespace kiviat::prof {
namespace {

constexpr std::size_t most_at_once = std::size_t{1} << 30;  // fits into an int count

void send(const Bytes& bytes, int to, MPI_Comm comm) {
  const std::uint64_t size = bytes.size();
  KIVIAT_PMPI(Send)(&size, sizeof size, byte(), to, 0, comm);
  for (std::size_t at = 0; at < size; at += most_at_once)
    KIVIAT_PMPI(Send)(bytes.data() + at, static_cast<int>(std::min<std::size_t>(most_at_once, size - at)), byte(), to,
                      0, comm);
}

void append_from(Bytes& bytes, int from, MPI_Comm comm) {
  std::uint64_t size = 0;
  KIVIAT_PMPI(Recv)(&size, sizeof size, byte(), from, 0, comm, MPI_STATUS_IGNORE);
  const std::size_t before = bytes.size();
  bytes.resize(before + size);
  for (std::size_t at = 0; at < size; at += most_at_once) {
    const int part = static_cast<int>(std::min<std::size_t>(most_at_once, size - at));
    KIVIAT_PMPI(Recv)(bytes.data() + before + at, part, byte(), from, 0, comm, MPI_STATUS_IGNORE);
  }
}

}  // namespace

// After k steps, rank r has the words of ranks r … r + 2^k - 1 in order.
void merge(const std::string& folder) {
  MPI_Comm comm;
  const int rank = profiler().rank, ranks = profiler().ranks;
  // MPI_Comm_dup would call the program's functions that copy attributes.
  if (KIVIAT_PMPI(Comm_split)(world(), 0, rank, &comm) != MPI_SUCCESS) return;
  KIVIAT_PMPI(Comm_set_errhandler)(comm, errors_return());
  Bytes bytes = packed(*profiler().state, profiler().rank == 0);
  for (int step = 1; step < ranks; step *= 2) {
    if (rank & step) {
      send(bytes, rank - step, comm);
      break;
    }
    if (rank + step < ranks) append_from(bytes, rank + step, comm);
  }
  int written = rank == 0 && write_world(folder, profiler().state->header, bytes);
  if (rank == 0 && !written) std::fprintf(stderr, "kiviat: cannot write the profile to folder %s\n", folder.c_str());
  KIVIAT_PMPI(Bcast)(&written, sizeof written, byte(), 0, comm);
  KIVIAT_PMPI(Comm_free)(&comm);
  if (written) unlink((folder + "/rank-" + std::to_string(rank) + "-" + std::to_string(getpid()) + ".state").c_str());
}

}  // namespace kiviat::prof
