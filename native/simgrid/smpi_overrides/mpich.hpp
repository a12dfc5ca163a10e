// Allgather, alltoall and broadcast as MPICH 3.x and 4.x decide. SMPI's selector `mpich` decides differently (SimGrid
// 3.32): its long allgather sends each block directly to every rank, so that it crosses the adapter of a node once for
// each rank of the others, whereas MPICH's ring passes blocks on to the next rank; its medium alltoall posts 4 messages
// at a time, the first one to the rank itself, as MVAPICH2, whereas MPICH posts 32; its alltoall of 256 B is not
// Bruck's; its broadcast to 8 ranks is always a binomial tree, and any even number of ranks counts as a power of two.
//
// Thresholds are the defaults of MPICH's control variables: MPIR_CVAR_ALLGATHER_SHORT_MSG_SIZE 81920 B and
// _LONG_MSG_SIZE 524288 B, of all blocks together; MPIR_CVAR_ALLTOALL_SHORT_MSG_SIZE 256 B, _MEDIUM_MSG_SIZE 32768 B,
// _THROTTLE 32; MPIR_CVAR_BCAST_MIN_PROCS 8, _SHORT_MSG_SIZE 12288 B, _LONG_MSG_SIZE 524288 B.
#pragma once

#include <bit>

namespace kiviat::sim {

inline bool is_power_of_two(int ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); }

// Returns whether a broadcast uses a binomial tree; if not, the next function returns whether its allgather uses
// recursive doubling.
inline bool is_short_bcast(long bytes, int ranks) { return bytes < 12288 || ranks < 8; }
inline bool is_medium_bcast(long bytes, int ranks) { return is_power_of_two(ranks) && bytes < 524288; }

// Installs all three for the whole simulation. Allgather uses the ring for blocks of more than `short_allgather_bytes`;
// negative: as MPICH. To be called while the platform is loaded, before note_working_sets().
void decide_as_mpich(double short_allgather_bytes);

}  // namespace kiviat::sim
