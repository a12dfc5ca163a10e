/* Every rank of a square grid gives its four neighbours 8 bytes, some times, and all sum up: for simulations of many ranks. */
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, ranks, side = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  while ((side + 1) * (side + 1) <= ranks) ++side;
  const int row = rank / side, column = rank % side;
  const int beside[4] = {row > 0 ? rank - side : MPI_PROC_NULL, row + 1 < side ? rank + side : MPI_PROC_NULL,
                         column > 0 ? rank - 1 : MPI_PROC_NULL, column + 1 < side ? rank + 1 : MPI_PROC_NULL};
  double out = rank, in[4], sum;
  for (int time = 0; time < 3; ++time) {
    MPI_Request requests[8];
    for (int at = 0; at < 4; ++at) {
      MPI_Irecv(&in[at], 1, MPI_DOUBLE, beside[at], 0, MPI_COMM_WORLD, &requests[2 * at]);
      MPI_Isend(&out, 1, MPI_DOUBLE, beside[at], 0, MPI_COMM_WORLD, &requests[2 * at + 1]);
    }
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(&out, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
