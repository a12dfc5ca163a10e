/* Every rank of a square grid sends its four neighbours 8 bytes, three times. Ranks send one after another, so that the
   simulation of some thousands takes seconds: the simulator must compute the rates of all simultaneous messages. */
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, ranks, side = 1, token = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  while ((side + 1) * (side + 1) <= ranks) ++side;
  const int row = rank / side, column = rank % side;
  const int beside[4] = {row > 0 ? rank - side : MPI_PROC_NULL, row + 1 < side ? rank + side : MPI_PROC_NULL,
                         column > 0 ? rank - 1 : MPI_PROC_NULL, column + 1 < side ? rank + 1 : MPI_PROC_NULL};
  double out = rank, in[4];
  for (int time = 0; time < 3; ++time) {
    MPI_Request requests[4];
    for (int at = 0; at < 4; ++at) MPI_Irecv(&in[at], 1, MPI_DOUBLE, beside[at], 0, MPI_COMM_WORLD, &requests[at]);
    if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int at = 0; at < 4; ++at) MPI_Send(&out, 1, MPI_DOUBLE, beside[at], 0, MPI_COMM_WORLD);
    if (rank + 1 < ranks) MPI_Send(&token, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
