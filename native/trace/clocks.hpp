// Offsets between the clocks of the ranks and the clock of rank 0. Ranks that read the same clock share one offset,
// which the first of them measures by ping-pong with rank 0. The shortest of many round trips bounds the error by half
// of its length (Cristian: "Probabilistic clock synchronization", Distributed Computing 3, 1989).
#pragma once

#include "trace/format.hpp"

namespace kiviat::prof {

// Both functions write offsets to `header` and are collective over MPI_COMM_WORLD: the first is called at the start of
// recording, the second at its end, so that drift can be interpolated.
void note_clocks(trace::Header& header);
void note_clocks_again(trace::Header& header);

}  // namespace kiviat::prof
