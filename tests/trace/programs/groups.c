/* Communicators between two groups: ranks 0 to 2 in descending order, and the others. Arguments select calls. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, mine, own, others, low, root;
static char there[1 << 20], here[1 << 20];
static int counts[64], more[64], places[64], places_more[64];
static MPI_Comm half, both;
#define ignored MPI_STATUS_IGNORE

/* In all collectives with a root it is rank 1 of the lower group. */
static void call(const char* name) {
  MPI_Request request = MPI_REQUEST_NULL, started[2];
  MPI_Comm again, merged, odd;
  MPI_Status status;
  int at;
  for (int at = 0; at < others; ++at) counts[at] = 100 + 10 * mine + at, places[at] = 1000 * at;
  for (int at = 0; at < others; ++at) more[at] = 100 + 10 * at + mine;
  if (!strcmp(name, "messages")) {
    /* Rank i of one group sends to rank i of the other, sizes tell who. */
    if (mine < others) {
      MPI_Isend(there, 1000 * (rank + 1), MPI_BYTE, mine, 7, both, &started[0]);
      MPI_Irecv(here, 1 << 20, MPI_BYTE, MPI_ANY_SOURCE, 7, both, &started[1]);
      MPI_Wait(&started[1], &status);
      if (status.MPI_SOURCE != mine) exit(4);
      MPI_Wait(&started[0], ignored);
      MPI_Sendrecv(there, 50, MPI_BYTE, mine, 1, here, 50, MPI_BYTE, mine, 1, both, ignored);
    }
    if (mine == 0 && low) MPI_Send(there, 9, MPI_BYTE, others - 1, 3, both);
    if (mine == own - 1 && !low) MPI_Probe(MPI_ANY_SOURCE, 3, both, &status), MPI_Recv(here, 9, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, both, ignored);
  }
  if (!strcmp(name, "barrier")) MPI_Barrier(both);
  if (!strcmp(name, "bcast")) MPI_Bcast(there, root == MPI_PROC_NULL ? 7 : 2000, MPI_BYTE, root, both);
  if (!strcmp(name, "reduce")) MPI_Reduce(there, here, 500, MPI_INT, MPI_SUM, root, both);
  if (!strcmp(name, "allreduce")) MPI_Allreduce(there, here, 500, MPI_INT, MPI_SUM, both);
  if (!strcmp(name, "gather")) MPI_Gather(there, 300, MPI_BYTE, here, 300, MPI_BYTE, root, both);
  if (!strcmp(name, "scatter")) MPI_Scatter(there, 300, MPI_BYTE, here, 300, MPI_BYTE, root, both);
  if (!strcmp(name, "gatherv")) MPI_Gatherv(there, 110 + mine, MPI_BYTE, here, counts, places, MPI_BYTE, root, both);
  if (!strcmp(name, "scatterv")) MPI_Scatterv(there, counts, places, MPI_BYTE, here, 110 + mine, MPI_BYTE, root, both);
  if (!strcmp(name, "allgather")) MPI_Allgather(there, low ? 10 : 20, MPI_BYTE, here, low ? 20 : 10, MPI_BYTE, both);
  if (!strcmp(name, "allgatherv")) {
    for (int at = 0; at < others; ++at) counts[at] = 100 + at;
    MPI_Allgatherv(there, 100 + mine, MPI_BYTE, here, counts, places, MPI_BYTE, both);
  }
  if (!strcmp(name, "alltoall")) MPI_Alltoall(there, low ? 10 : 20, MPI_BYTE, here, low ? 20 : 10, MPI_BYTE, both);
  if (!strcmp(name, "alltoallv")) MPI_Alltoallv(there, counts, places, MPI_BYTE, here, more, places, MPI_BYTE, both);
  if (!strcmp(name, "reduce_scatter_block")) MPI_Reduce_scatter_block(there, here, 300 / own, MPI_INT, MPI_SUM, both);
  if (!strcmp(name, "reduce_scatter")) {
    for (int at = 0; at < own; ++at) counts[at] = at ? 50 : 300 - 50 * (own - 1);
    MPI_Reduce_scatter(there, here, counts, MPI_INT, MPI_SUM, both);
  }
  if (!strcmp(name, "ibarrier")) MPI_Ibarrier(both, &request);
  if (!strcmp(name, "ibcast")) MPI_Ibcast(there, 2000, MPI_BYTE, root, both, &request);
  if (!strcmp(name, "iallreduce")) MPI_Iallreduce(there, here, 500, MPI_INT, MPI_SUM, both, &request);
  if (!strcmp(name, "iallgather")) MPI_Iallgather(there, low ? 10 : 20, MPI_BYTE, here, low ? 20 : 10, MPI_BYTE, both, &request);
  if (!strcmp(name, "merge")) {
    /* The higher group comes first in the union, which sends a ring of messages. */
    MPI_Intercomm_merge(both, low, &merged);
    MPI_Comm_rank(merged, &at);
    MPI_Sendrecv(there, 10 * (rank + 1), MPI_BYTE, (at + 1) % ranks, 0, here, 1000, MPI_BYTE, (at + ranks - 1) % ranks, 0, merged, ignored);
    MPI_Comm_free(&merged);
  }
  if (!strcmp(name, "dup")) {
    MPI_Comm_dup(both, &again);
    if (mine < others) MPI_Sendrecv(there, 10, MPI_BYTE, mine, 0, here, 10, MPI_BYTE, mine, 0, again, ignored);
    MPI_Comm_free(&again);
  }
  if (!strcmp(name, "split")) {
    /* The last rank of each group is left out. */
    MPI_Comm_split(both, mine == own - 1 ? MPI_UNDEFINED : 0, 0, &odd);
    if (odd != MPI_COMM_NULL) MPI_Barrier(odd), MPI_Comm_free(&odd);
  }
  if (!strcmp(name, "ireduce_scatter_block")) MPI_Ireduce_scatter_block(there, here, 300 / own, MPI_INT, MPI_SUM, both, &request);
  if (request != MPI_REQUEST_NULL) MPI_Wait(&request, ignored);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  low = rank < 3;
  MPI_Comm_split(MPI_COMM_WORLD, low, low ? -rank : rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? 3 : 2, 0, &both);
  MPI_Comm_rank(half, &mine);
  MPI_Comm_size(half, &own);
  MPI_Comm_remote_size(both, &others);
  root = !low ? 1 : mine == 1 ? MPI_ROOT : MPI_PROC_NULL;
  for (int at = 1; at < argc; ++at) call(argv[at]);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
  if (rank == 0) puts("done");
  MPI_Finalize();
  return 0;
}
