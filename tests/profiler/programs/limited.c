/* Sends to itself.
 *
 *     limited BYTES    no file may be larger
 *
 * With -DINTERRUPTED, a signal arrives whenever the first bytes of a file are reserved. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <sys/resource.h>

#ifdef INTERRUPTED
int posix_fallocate(int file, off_t offset, off_t bytes) {
  static int calls = 0;
  if (calls++ == 0) return EINTR;
  return fallocate(file, 0, offset, bytes) ? errno : 0;
}
#endif

int main(int count, char** words) {
  char out = 0, in;
  if (count > 1) {
    const struct rlimit limit = {atol(words[1]), atol(words[1])};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  MPI_Init(&count, &words);
  MPI_Sendrecv(&out, 1, MPI_CHAR, 0, 0, &in, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 7;
}
