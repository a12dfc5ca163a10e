// Agreement on whether Kiviat's library is preloaded in all ranks.
#pragma once

namespace kiviat::prof {

// Returns false if not all ranks of MPI_COMM_WORLD call it within 60 s. Called by all ranks that preload the library.
bool all_are_here();

}  // namespace kiviat::prof
