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

// Returns the location of this rank. Two ranks share a node if their `node` is equal.
Place place();
std::string node();

// Returns the processors per rank where there are fewest. Nodes under one kernel (emulated nodes, containers) count
// together. Collective.
double processors_per_rank(MPI_Comm world);
// Returns this rank's share of the memory that its machine, its control groups (jobs, containers) and its address
// space still have, in bytes. Nodes under one kernel count together. Collective.
std::size_t memory_share_bytes(MPI_Comm world);
// Size of the last-level cache in bytes.
std::size_t last_level_cache_bytes();

// Allocates memory for messages, to be freed by release(); returns null if there is not enough.
void* allocate(std::size_t bytes);
void release(void* memory);
// Returns whether messages carry their payload; simulators may omit it.
bool carries_payload();

// Simulations only: tells whether the rank's next messages are not in its caches, because their positions rotate
// through memory. Caches of real machines notice by themselves.
void sends_from_memory(bool rotating);

// Seconds in which idle links refill their token buckets, on modelled and emulated machines; 0 without buckets.
double refill_s();
// Simulations only: number of calls after which short messages have emptied the token buckets as far as they can; 0
// without buckets.
int settling_calls();
// Simulations only: number of calls over which a time is averaged, because some of them then wait for tokens and others
// do not; 1 without buckets.
int averaged_calls();

}  // namespace kiviat::host
