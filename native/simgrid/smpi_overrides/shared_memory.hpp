// Collectives of the ranks of a node in a shared segment, instead of by messages: gather and release, as in Jain et
// al., "Framework for Scalable Intra-Node Collective Operations using Shared Memory", SC 2018, with one level. Each
// rank copies its vector into the segment and raises a flag, and the root reads one after the other; or the root copies
// its vector and raises a flag, and all others read it. With R ranks that call at once, n bytes take
//
//     reduction   n / rate + latency + (R - 1) (flag + n / rate)
//     broadcast   n / rate + latency + n / rate
//
// where latency is that of a call and a signal, `flag` the time to look at one more flag, and `rate` that at which a
// core copies or reads.
#pragma once

#include <mpi.h>

namespace kiviat::sim {

struct SharedMemory {
  double latency_s = 0, flag_s = 0, bytes_per_s = 0;
  double largest_bytes = -1;  // vectors of more bytes travel in messages; negative: all do
};

// Sets the costs for the whole simulation. To be called while the platform is loaded.
void share_memory(const SharedMemory& costs);

// Returns whether vectors of so many bytes are exchanged in shared memory.
bool in_shared_memory(double bytes);

// Collectives of all ranks of `here`, which are on one node and share the communicator object. The operation commutes;
// only the root uses `into`.
void reduce_in_memory(const void* send, void* into, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm here);
void bcast_in_memory(void* data, int count, MPI_Datatype type, int root, MPI_Comm here);
void barrier_in_memory(MPI_Comm here);

}  // namespace kiviat::sim
