/* A program whose library begins or ends MPI while no other library is initialised, or all others have ended. Compiled
 * twice, with -DLIBRARY as the library; an argument selects who begins and ends. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void talk(void);
#ifdef LIBRARY
static int ends;

static void finish(void) {
  talk();
  MPI_Finalize();
}

__attribute__((constructor)) static void load(int argc, char** argv) {
  if (argc < 2) return;
  if (!strcmp(argv[1], "object")) MPI_Init(&argc, &argv);
  if (!strcmp(argv[1], "atexit")) atexit(finish);
  ends = strcmp(argv[1], "atexit");
}

__attribute__((destructor)) static void unload(void) {
  if (ends) finish();
}

void talk(void) {
  int rank, ranks, got;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Request requests[2];
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
#else
int main(int argc, char** argv) {
  int rank;
  if (strcmp(argv[1], "object")) MPI_Init(&argc, &argv);
  talk();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) puts("done");
  return 0;
}
#endif
