// Agreement that Kiviat's library is preloaded in all ranks, and who started them.
#pragma once

namespace kiviat::prof {

// Returns when all ranks of MPI_COMM_WORLD have called it. If some do not within a minute, because they do not preload
// the library, ends the program with a message that calls the library `name`.
void meet(int rank, const char* name);

// Returns the number of processes that started this world by MPI_Comm_spawn; 0 if the launcher started it.
int parents();

}  // namespace kiviat::prof
