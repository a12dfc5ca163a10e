// Where a rank runs: what its node, its processors and its memory are.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>

namespace kiviat::host {

struct Place {
  char host[MPI_MAX_PROCESSOR_NAME], node[MPI_MAX_PROCESSOR_NAME + 64], cpus[128], sockets[128];
  int pid;
};

// Of this rank. Two ranks share a node if theirs are equal.
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
// Whether messages carry what was put into them. A simulator need not move them.
bool carries_payload();

// What links let pass at once, when they have been idle, is there again when this returns; a simulator needs to be
// told.
void rest();
// How many calls in a row use that up, as far as short messages can; 0 where the first call is like all others.
int settling_calls();

}  // namespace kiviat::host
