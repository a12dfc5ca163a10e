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

// Processors per rank on the node with the fewest. Collective.
double processors_per_rank(MPI_Comm world);
// Available memory of this node divided by its ranks, in bytes. Collective.
std::size_t memory_share_bytes(MPI_Comm world);
// Size of the last-level cache in bytes.
std::size_t last_level_cache_bytes();

// Allocates memory for messages; null if there is not enough. To be freed by release().
void* allocate(std::size_t bytes);
void release(void* memory);
// Returns whether messages carry their payload. A simulator need not move it.
bool carries_payload();

// Waits until idle links have refilled their token buckets. Simulations only: in reality time passes between blocks.
void rest();
// Number of calls after which short messages have emptied the token buckets as far as they can; 0 without buckets.
int settling_calls();

}  // namespace kiviat::host
