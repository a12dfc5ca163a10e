// half_way BYTES: every rank exchanges BYTES bytes with the rank half of the world away.
#include <mpi.h>

#include <cstdlib>
#include <vector>

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int bytes = std::atoi(words[1]), peer = (rank + size / 2) % size;
  std::vector<char> out(bytes, 'x'), in(bytes);
  MPI_Sendrecv(out.data(), bytes, MPI_CHAR, peer, 0, in.data(), bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Finalize();
}
