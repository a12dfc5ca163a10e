/* Fills the recorder's files, which may not grow, or whose growth is interrupted by signals; an argument selects which. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define world MPI_COMM_WORLD
static int interrupted;

/* The recorder calls this one, too. */
int posix_fallocate(int file, off_t from, off_t bytes) {
  static int calls;
  if (interrupted && calls++ % 2 == 0) return EINTR;
  return fallocate(file, 0, from, bytes) ? errno : 0;
}

int main(int argc, char** argv) {
  int rank, there = 0, here;
  const struct rlimit small = {256 << 10, RLIM_INFINITY};
  interrupted = !strcmp(argv[1], "interrupted");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(world, &rank);
  if (!strcmp(argv[1], "limited")) setrlimit(RLIMIT_FSIZE, &small);
  for (int step = 0; step < 30000; ++step)
    MPI_Sendrecv(&there, 1, MPI_INT, rank ^ 1, 0, &here, 1, MPI_INT, rank ^ 1, 0, world, MPI_STATUS_IGNORE);
  if (rank == 0) puts("done");
  MPI_Finalize();
  return 7;
}
