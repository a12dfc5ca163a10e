// Alltoall of any number of ranks: for long messages MPICH exchanges pairwise, but the pairwise algorithm of SimGrid
// 3.32 requires a power of two of ranks, and throws otherwise.
#pragma once

namespace kiviat::sim {

// Installs it for the whole simulation. To be called while the platform is loaded, before decide_as_mpich() and
// note_working_sets().
void allow_any_number_of_ranks();

}  // namespace kiviat::sim
