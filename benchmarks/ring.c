/* ring CALLS: each rank sends 8 B to the next in a ring, and receives as many, in each call. */
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  char out[8] = {0}, in[8];
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = atoi(argv[1]); i > 0; --i)
    MPI_Sendrecv(out, 8, MPI_BYTE, (rank + 1) % ranks, 0, in, 8, MPI_BYTE, (rank + ranks - 1) % ranks, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
