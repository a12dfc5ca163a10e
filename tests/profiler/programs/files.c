/* Every rank collectively writes 10 parts of 1000 ints to the file in the first argument, and reads 4 of them back. */
#include <mpi.h>

int main(int argc, char** argv) {
  static int out[1000], in[1000];
  int rank;
  MPI_File file;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 40000 * rank, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  for (int part = 0; part < 10; ++part) MPI_File_write_all(file, out, 1000, MPI_INT, MPI_STATUS_IGNORE);
  for (int part = 0; part < 4; ++part) MPI_File_read_at(file, 1000 * part, in, 1000, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_iwrite_at(file, 0, out, 1, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
