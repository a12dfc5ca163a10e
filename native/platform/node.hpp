// Location of a rank: its node, processors and memory.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>

namespace kiviat::host {

struct Place {
  char host[MPI_MAX_PROCESSOR_NAME], node[MPI_MAX_PROCESSOR_NAME + 64], cpus[128], sockets[128];
  int pid;
};

// Location of this rank. Two ranks share a node if their `node` is equal.
Place place();
std::string node();

// Processors for each rank, on the node that has the fewest. Collective.
double processors_per_rank(MPI_Comm world);
// This rank's share of the memory available on its node. Collective.
std::size_t memory_share_bytes(MPI_Comm world);
std::size_t last_level_cache_bytes();

// Memory for messages; null where there is none.
void* allocate(std::size_t bytes);
void release(void* memory);
// Returns whether messages carry their payload. A simulator need not move it.
bool carries_payload();

// Lets idle links refill their token buckets before it returns; a simulator needs to be told.
void rest();
// Number of successive calls that use up the token buckets, as far as short messages can; 0 if the first call
// is like all others.
int settling_calls();

}  // namespace kiviat::host
