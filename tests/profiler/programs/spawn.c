/* Two ranks that start two more (MPI_Comm_spawn), which send their parents three messages each.
 *
 *     spawn            waits for the children's messages
 *     spawn bare       the same, but the children preload nothing
 *     spawn abort      the same, but then the parents call MPI_Abort, which ends the children, too
 *     spawn late       the same, but the parents call MPI_Abort after the children have written their profile */
#include <glob.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Waits until a profile is in the folder of the profiler, for a minute at most. */
static void wait_for_profile(void) {
  char pattern[4096];
  glob_t found;
  snprintf(pattern, sizeof pattern, "%s/world-*.profile", getenv("KIVIAT_PROFILE"));
  for (int times = 0; times < 6000 && glob(pattern, 0, NULL, &found) != 0; ++times) usleep(10000);
}

int main(int count, char** words) {
  MPI_Comm parent, children;
  int rank, value = 0;
  const int bare = count > 1 && strcmp(words[1], "bare") == 0, abort = count > 1 && strcmp(words[1], "abort") == 0;
  const int late = count > 1 && strcmp(words[1], "late") == 0;
  char* with_env[] = {"-u", "LD_PRELOAD", words[0], NULL};
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) {
    MPI_Comm_spawn(bare ? "env" : words[0], bare ? with_env : words + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                   &children, MPI_ERRCODES_IGNORE);
    for (int i = 0; i < 3; ++i) MPI_Recv(&value, 1, MPI_INT, rank, 0, children, MPI_STATUS_IGNORE);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (abort) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Comm_disconnect(&children);
    if (late) {
      wait_for_profile();
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  } else {
    for (int i = 0; i < 3; ++i) MPI_Send(&value, 1, MPI_INT, rank, 0, parent);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (abort) pause();
    MPI_Comm_disconnect(&parent);
  }
  MPI_Finalize();
  return 0;
}
