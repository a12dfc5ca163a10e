// Broadcasts of Open MPI. SMPI's selector `ompi` decides as Open MPI 4.1, but its algorithms differ: `basic_linear`
// becomes a chain of segments of 8 KiB, which occupies the root's adapter once instead of once for each rank; and the
// binary tree and the chain cut messages into segments, where Open MPI passes them on whole by default
// (coll_tuned_decision_fixed.c and coll_base_bcast.c of Open MPI 4.1; SimGrid 3.32). The split binary tree, which Open
// MPI uses for 16 to 32 KiB on 256 to 1023 ranks, remains SMPI's.
//
// SMPI calls them through tables that the dynamic linker fills by name, so definitions in a preloaded library replace
// them. Other selectors and machines that name such an algorithm get SMPI's.
#include <dlfcn.h>
#include <mpi.h>

#include <bit>
#include <string>
#include <vector>
#include <xbt/config.hpp>

#include "simgrid/communicator.hpp"

namespace {

using Bcast = int(void*, int, MPI_Datatype, int, MPI_Comm);
using simgrid::smpi::Request;

constexpr int tag = -7716;

bool is_open_mpis() {
  const auto named = simgrid::config::get_value<std::string>("smpi/bcast");
  return (named.empty() ? simgrid::config::get_value<std::string>("smpi/coll-selector") : named) == "ompi";
}

int send_to_all(const std::vector<int>& ranks, const void* buffer, int count, MPI_Datatype type, MPI_Comm comm) {
  std::vector<MPI_Request> requests;
  for (const int rank : ranks) requests.push_back(Request::isend(buffer, count, type, rank, tag, comm));
  return Request::waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

int linear(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  if (comm->rank() != root) return Request::recv(buffer, count, type, root, tag, comm, MPI_STATUS_IGNORE), MPI_SUCCESS;
  std::vector<int> others;
  for (int rank = 0; rank < comm->size(); ++rank)
    if (rank != root) others.push_back(rank);
  return send_to_all(others, buffer, count, type, comm);
}

// With ranks counted from the root, the 2^k ranks of level k begin with 2^k - 1; the children of a rank follow it by
// 2^k and 2^(k + 1).
int binary_tree(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const int ranks = comm->size(), mine = (comm->rank() + ranks - root) % ranks;
  const auto width_of = [](int rank) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(rank) + 1)); };
  if (mine > 0) {
    const int above = width_of(mine) / 2, parent = mine - above < 2 * above - 1 ? mine - above : mine - 2 * above;
    Request::recv(buffer, count, type, (parent + root) % ranks, tag, comm, MPI_STATUS_IGNORE);
  }
  std::vector<int> children;
  for (const int child : {mine + width_of(mine), mine + 2 * width_of(mine)})
    if (child < ranks) children.push_back((child + root) % ranks);
  return send_to_all(children, buffer, count, type, comm);
}

int chain(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const int ranks = comm->size(), mine = (comm->rank() + ranks - root) % ranks;
  if (mine > 0) Request::recv(buffer, count, type, (mine - 1 + root) % ranks, tag, comm, MPI_STATUS_IGNORE);
  if (mine + 1 < ranks) Request::send(buffer, count, type, (mine + 1 + root) % ranks, tag, comm);
  return MPI_SUCCESS;
}

Bcast* chosen(Bcast* ours, const char* smpis) {
  return is_open_mpis() ? ours : reinterpret_cast<Bcast*>(dlsym(RTLD_NEXT, smpis));
}

}  // namespace

namespace simgrid::smpi {

int bcast__NTSL(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  static Bcast* const algorithm = chosen(linear, "_ZN7simgrid4smpi11bcast__NTSLEPviPNS0_8DatatypeEiPNS0_4CommE");
  return algorithm(buffer, count, type, root, comm);
}

int bcast__NTSB(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  static Bcast* const algorithm = chosen(binary_tree, "_ZN7simgrid4smpi11bcast__NTSBEPviPNS0_8DatatypeEiPNS0_4CommE");
  return algorithm(buffer, count, type, root, comm);
}

int bcast__ompi_pipeline(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  static Bcast* const algorithm =
      chosen(chain, "_ZN7simgrid4smpi20bcast__ompi_pipelineEPviPNS0_8DatatypeEiPNS0_4CommE");
  return algorithm(buffer, count, type, root, comm);
}

}  // namespace simgrid::smpi
