/* A broadcast of one element of 3 GiB on a single rank: nothing is moved or allocated. */
#include <mpi.h>

int main(int argc, char** argv) {
  static char data[8];
  MPI_Datatype gibibyte, huge;
  MPI_Init(&argc, &argv);
  MPI_Type_contiguous(1 << 30, MPI_BYTE, &gibibyte);
  MPI_Type_contiguous(3, gibibyte, &huge);
  MPI_Type_commit(&huge);
  MPI_Bcast(data, 1, huge, 0, MPI_COMM_WORLD);
  MPI_Type_free(&huge);
  MPI_Type_free(&gibibyte);
  MPI_Finalize();
  return 0;
}
