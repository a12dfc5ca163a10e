/* patterns CALLS CHAINED DISTANCE...: the messages of a Pattern of loggopsim.py, for MPI. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int chained = atoi(argv[2]), steps = argc - 3;
  char out[8] = {0}, *in = malloc(steps * sizeof out);
  MPI_Request *receives = malloc(2 * steps * sizeof *receives), *sends = receives + steps;
  for (int call = atoi(argv[1]); call > 0; --call) {
    for (int step = 0; step < steps; ++step) {
      const int from = (rank + ranks - atoi(argv[3 + step])) % ranks;
      MPI_Irecv(in + step * sizeof out, 8, MPI_BYTE, from, 0, MPI_COMM_WORLD, &receives[step]);
    }
    for (int step = 0; step < steps; ++step) {
      const int to = (rank + atoi(argv[3 + step])) % ranks;
      MPI_Isend(out, 8, MPI_BYTE, to, 0, MPI_COMM_WORLD, &sends[step]);
      if (chained) MPI_Wait(&receives[step], MPI_STATUS_IGNORE);
    }
    MPI_Waitall(2 * steps, receives, MPI_STATUSES_IGNORE);
  }
  free(receives), free(in);
  MPI_Finalize();
  return 0;
}
