/* Two ranks swap messages with the calls that send and receive at once without blocking, of MPI 4. */
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, other;
  char out[100] = {0}, in[100];
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  other = 1 - rank;
  MPI_Isendrecv(out, 100, MPI_CHAR, other, 0, in, 100, MPI_CHAR, other, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Isendrecv_replace(in, 60, MPI_CHAR, other, 0, other, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Isendrecv_c(out, 30, MPI_CHAR, other, 0, in, 30, MPI_CHAR, other, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Isendrecv_replace_c(in, 20, MPI_CHAR, other, 0, other, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
