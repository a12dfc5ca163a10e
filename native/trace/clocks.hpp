// How the clocks of ranks stand beside that of rank 0. Ranks that read the same one need not ask; of those that do not,
// the first rank of each clock asks by messages: at the shortest round trip of many the offset is known to half of that
// trip (Cristian: "Probabilistic clock synchronization", Distributed Computing 3, 1989).
#pragma once

#include "trace/format.hpp"

namespace kiviat::prof {

// Into the header; collective, at the beginning and at the end.
void note_clocks(trace::Header& header);
void note_clocks_again(trace::Header& header);

}  // namespace kiviat::prof
