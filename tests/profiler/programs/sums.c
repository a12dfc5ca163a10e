/* 32 sums over all ranks. With -DSIZE instead a library, which makes an element appear as large as 2^53 B. */
#include <mpi.h>

#ifdef SIZE
int PMPI_Type_size_x(MPI_Datatype type, MPI_Count* size) {
  *size = (MPI_Count)1 << 53;
  return MPI_SUCCESS;
}
#else
int main(int argc, char** argv) {
  int one = 1, sum;
  MPI_Init(&argc, &argv);
  for (int n = 0; n < 32; ++n) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
#endif
