/* Calls that fail, in a program of two ranks that goes on: with ranks and roots that do not exist, and a receive of half
 * a message. */
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, ranks;
  char data[16] = {0};
  const MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int time = 0; time < 10; ++time)
    if (MPI_Send(data, 8, MPI_CHAR, ranks, 0, comm) == MPI_SUCCESS) return 3;
  if (MPI_Isend(data, 8, MPI_CHAR, 1000000, 0, comm, &request) == MPI_SUCCESS) return 3;
  if (MPI_Gather(data, 8, MPI_CHAR, data + 8, 8, MPI_CHAR, ranks, comm) == MPI_SUCCESS) return 3;
  if (rank == 0) MPI_Send(data, 8, MPI_CHAR, 1, 0, comm);
  else if (MPI_Recv(data, 4, MPI_CHAR, 0, 0, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS) return 3;
  MPI_Finalize();
  return 0;
}
