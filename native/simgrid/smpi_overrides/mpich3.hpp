// Allgather and alltoall as MPICH 3.x decides. SMPI's selector `mpich` decides differently (SimGrid 3.32): its long
// allgather sends each block directly to every rank, so that it crosses the adapter of a node once for each rank of the
// others, whereas MPICH's ring passes blocks on to the next rank; its medium alltoall posts 4 messages at a time, the
// first one to the rank itself, as MVAPICH2, whereas MPICH posts 32; its alltoall of 256 B is not Bruck's.
//
// Thresholds are the defaults of MPICH's control variables: MPIR_CVAR_ALLGATHER_SHORT_MSG_SIZE 81920 B and
// _LONG_MSG_SIZE 524288 B, of all blocks together; MPIR_CVAR_ALLTOALL_SHORT_MSG_SIZE 256 B, _MEDIUM_MSG_SIZE 32768 B,
// _THROTTLE 32.
#pragma once

namespace kiviat::sim {

// Installs both for the whole simulation. Allgather uses the ring for blocks of more than `short_allgather_bytes`;
// negative: as MPICH. To be called while the platform is loaded, before note_working_sets().
void decide_as_mpich_3(double short_allgather_bytes);

}  // namespace kiviat::sim
