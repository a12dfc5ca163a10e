/* Calls whose arguments are significant on some ranks only, and neighbours that do not exist. */
#include <mpi.h>
#include <stddef.h>

int main(int argc, char** argv) {
  int rank, ranks, sides, counts[16], places[16];
  char one[100], all[1600];
  MPI_Comm line, half, inter;
  MPI_Request requests[2];
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
  /* Between two groups, the root's arguments count, and those of the other group; not those of the others beside it. */
  MPI_Comm_split(MPI_COMM_WORLD, rank < ranks / 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < ranks / 2 ? ranks / 2 : 0, 0, &inter);
  if (rank == 0 || rank >= ranks / 2) {
    const int root = rank == 0 ? MPI_ROOT : 0;
    MPI_Reduce(one, all, 100, MPI_CHAR, MPI_MAX, root, inter);
    MPI_Ireduce(one, all, 100, MPI_CHAR, MPI_MAX, root, inter, &requests[0]);
    MPI_Bcast(one, 100, MPI_CHAR, root, inter);
    MPI_Ibcast(all + 100, 100, MPI_CHAR, root, inter, &requests[1]);
  } else {
#ifdef OPEN_MPI /* refuses null handles, as MPICH does in broadcasts */
    const MPI_Datatype type = MPI_CHAR;
    const MPI_Op operation = MPI_MAX;
#else
    const MPI_Datatype type = MPI_DATATYPE_NULL;
    const MPI_Op operation = MPI_OP_NULL;
#endif
    MPI_Reduce(NULL, NULL, 7, type, operation, MPI_PROC_NULL, inter);
    MPI_Ireduce(NULL, NULL, 7, type, operation, MPI_PROC_NULL, inter, &requests[0]);
    MPI_Bcast(one, 7, MPI_CHAR, MPI_PROC_NULL, inter);
    MPI_Ibcast(all, 7, MPI_CHAR, MPI_PROC_NULL, inter, &requests[1]);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Comm_free(&inter), MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
