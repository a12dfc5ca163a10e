/* Calls whose arguments are significant on some ranks only, and neighbours that do not exist. */
#include <mpi.h>
#include <stddef.h>

int main(int argc, char** argv) {
  int rank, ranks, sides, counts[16], places[16];
  char one[100], all[1600];
  MPI_Comm line;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int other = 0; other < ranks; ++other) counts[other] = 100, places[other] = 100 * other;
  if (rank == 0) {
    MPI_Scatter(all, 100, MPI_CHAR, one, 100, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Gather(MPI_IN_PLACE, 7, MPI_DATATYPE_NULL, all, 100, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Gatherv(MPI_IN_PLACE, 7, MPI_DATATYPE_NULL, all, counts, places, MPI_CHAR, 0, MPI_COMM_WORLD);
  } else {
    MPI_Scatter(NULL, 7, MPI_DATATYPE_NULL, one, 100, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Gather(one, 100, MPI_CHAR, NULL, 7, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    MPI_Gatherv(one, 100, MPI_CHAR, NULL, NULL, NULL, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
  }
  sides = 0;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &sides, 0, &line);
  MPI_Neighbor_alltoall(all, 100, MPI_CHAR, all + 800, 100, MPI_CHAR, line);
  MPI_Neighbor_alltoallv(all, counts, places, MPI_CHAR, all + 800, counts, places, MPI_CHAR, line);
  MPI_Comm_free(&line);
  MPI_Finalize();
  return 0;
}
