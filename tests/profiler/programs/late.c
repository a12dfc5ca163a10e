/* One rank is late by 50 ms in the selected function; all others are on time. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, ranks;
static char large[4 << 20], other[4 << 20];

/* Synchronises all ranks, then delays one of them. */
static void late(int who) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == who) {
    const struct timespec time = {0, 50 * 1000 * 1000};
    nanosleep(&time, NULL);
  }
}

/* Late senders: of a blocking message, on a communicator with reversed ranks, and by a request. */
static void sender(void) {
  MPI_Comm turned, halves;
  MPI_Request request[2];
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &halves);
  late(0);
  if (rank == 0) MPI_Send(large, 8, MPI_CHAR, 1, 5, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(large, 8, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  late(0);
  if (rank == 0) MPI_Send(large, 8, MPI_CHAR, ranks - 3, 6, turned); /* world rank 2 */
  if (rank == 2) MPI_Recv(large, 8, MPI_CHAR, ranks - 1, 6, turned, MPI_STATUS_IGNORE);
  late(0);
  if (rank == 0) {
    MPI_Isend(large, 8, MPI_CHAR, 1, 7, halves, &request[0]); /* world rank 2 */
    MPI_Wait(request, MPI_STATUS_IGNORE);
  }
  if (rank == 2) {
    MPI_Irecv(large, 8, MPI_CHAR, 0, 7, halves, &request[0]);
    MPI_Waitall(1, request, MPI_STATUSES_IGNORE);
  }
  MPI_Comm_free(&turned);
  MPI_Comm_free(&halves);
}

/* Late receivers: long messages wait for the receive, short ones do not. */
static void receiver(void) {
  MPI_Request request;
  late(1);
  if (rank == 0) MPI_Ssend(large, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(other, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  late(1);
  if (rank == 0) {
    MPI_Isend(large, sizeof large, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (rank == 1) MPI_Recv(other, sizeof other, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  late(1);
  if (rank == 0) MPI_Send(large, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(other, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void collectives(void) {
  MPI_Request request;
  double mine = 1, sum;
  int parts[64], places[64];
  for (int r = 0; r < ranks; ++r) parts[r] = r, places[r] = r * (r - 1) / 2;
  late(2);
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  late(0);
  MPI_Bcast(&mine, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  late(1);
  MPI_Gatherv(large, rank, MPI_CHAR, other, parts, places, MPI_CHAR, 0, MPI_COMM_WORLD);
  late(2);
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  late(1);
  MPI_Scan(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* rank 0 does not wait */
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int at = 1; at < count; ++at) {
    if (!strcmp(words[at], "sender")) sender();
    if (!strcmp(words[at], "receiver")) receiver();
    if (!strcmp(words[at], "collectives")) collectives();
    if (!strcmp(words[at], "sleeps")) {
      const struct timespec time = {12, 0};
      MPI_Pcontrol(3);
      nanosleep(&time, NULL);
      MPI_Pcontrol(1);
    }
    if (!strcmp(words[at], "abort")) {
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
  MPI_Finalize();
}
