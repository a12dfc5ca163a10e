// Buffers of collectives, which decide whether the messages of a rank fit into its caches.
#pragma once

namespace kiviat::sim {

// Sets the working set of each rank's host (Sent::working_set_bytes) to the size of its buffers during alltoall and
// allgather. To be called while the platform is loaded.
void note_working_sets();

}  // namespace kiviat::sim
