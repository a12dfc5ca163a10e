/* Patterns with known messages: a ring, a halo in a grid with four columns, an all-to-all. Built for simulation.
   Its last line of output is the elapsed time with all digits. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char out[1 << 16], in[1 << 22];
int rank, ranks; /* each simulated rank has its own copy */

static void exchange(int to, int from, int bytes) {
  MPI_Sendrecv(out, bytes, MPI_BYTE, to, 1, in, bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void halo(int bytes) {
  const int columns = 4, column = rank % columns;
  const int others[] = {rank - columns, rank + columns, column > 0 ? rank - 1 : -1, column + 1 < columns ? rank + 1 : -1};
  MPI_Request requests[8];
  int count = 0;
  for (int at = 0; at < 4; ++at) {
    if (others[at] < 0 || others[at] >= ranks) continue;
    MPI_Irecv(in + at * bytes, bytes, MPI_BYTE, others[at], 2, MPI_COMM_WORLD, &requests[count++]);
    MPI_Isend(out, bytes, MPI_BYTE, others[at], 2, MPI_COMM_WORLD, &requests[count++]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  const int times = argc > 2 ? atoi(argv[2]) : 1, bytes = argc > 3 ? atoi(argv[3]) : 4096;
  MPI_Init(&argc, &argv);
  const double begun = MPI_Wtime();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int time = 0; time < times; ++time) {
    if (!strcmp(argv[1], "ring")) exchange((rank + 1) % ranks, (rank + ranks - 1) % ranks, bytes);
    if (!strcmp(argv[1], "halo")) halo(bytes);
    if (!strcmp(argv[1], "alltoall")) MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
    if (!strcmp(argv[1], "rows")) { /* equal numbers of bytes on communicators whose handles ranks may share */
      MPI_Comm row;
      MPI_Comm_split(MPI_COMM_WORLD, rank / 4, rank, &row);
      MPI_Pcontrol(2);
      MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, row);
      MPI_Pcontrol(1);
      MPI_Comm_free(&row);
    }
    if (!strcmp(argv[1], "stuck") && rank == 1) MPI_Recv(in, 1, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(argv[1], "abort") && rank == 1) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  if (rank == 0) printf("%.17g\n", MPI_Wtime() - begun);
  MPI_Finalize();
  return 0;
}
