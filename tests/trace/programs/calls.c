/* Parts of MPI, each used by one function, which an argument selects. Those up to `anybody`, and `compute`, also run in
 * simulations. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;
static char there[1 << 20], here[1 << 20];
#define world MPI_COMM_WORLD

static void ring(void) {
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  for (int bytes = 1; bytes <= 100000; bytes *= 10) {
    if (rank == 0) {
      MPI_Send(there, bytes, MPI_BYTE, right, 3, world);
      MPI_Recv(here, bytes, MPI_BYTE, left, 3, world, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(here, 1 << 20, MPI_BYTE, left, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
      MPI_Send(there, bytes, MPI_BYTE, right, 3, world);
    }
    MPI_Sendrecv(there, bytes / 8 + 1, MPI_DOUBLE, right, 4, here, bytes / 8 + 1, MPI_DOUBLE, left, 4, world, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(there, bytes, MPI_BYTE, rank ? rank - 1 : MPI_PROC_NULL, 5, rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL, 5, world,
                         MPI_STATUS_IGNORE);
  }
}

static void requests(void) {
  MPI_Request all[4];
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  for (int time = 0; time < 3; ++time) {
    MPI_Irecv(here, 5000, MPI_INT, left, 1, world, &all[0]);
    MPI_Irecv(here, 5000, MPI_INT, right, 2, world, &all[1]);
    MPI_Isend(there, 5000, MPI_INT, right, 1, world, &all[2]);
    MPI_Issend(there, 50, MPI_INT, left, 2, world, &all[3]);
    MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
  }
  MPI_Send_init(there, 7000, MPI_DOUBLE, right, 6, world, &all[0]);
  MPI_Recv_init(here, 7000, MPI_DOUBLE, left, 6, world, &all[1]);
  for (int time = 0; time < 3; ++time) {
    MPI_Startall(2, all);
    MPI_Wait(&all[1], MPI_STATUS_IGNORE);
    MPI_Wait(&all[0], MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&all[0]);
  MPI_Request_free(&all[1]);
}

static void collectives(void) {
  int counts[256], places[256];
  for (int other = 0; other < ranks; ++other) counts[other] = 10 + other, places[other] = 40 * other;
  for (int count = 1; count <= 10000; count *= 100) {
    MPI_Barrier(world);
    MPI_Bcast(there, count, MPI_DOUBLE, 1 % ranks, world);
    MPI_Reduce(there, here, count, MPI_INT, MPI_SUM, 0, world);
    MPI_Allreduce(there, here, count, MPI_INT, MPI_SUM, world);
    MPI_Gather(there, count / 10 + 1, MPI_INT, here, count / 10 + 1, MPI_INT, 0, world);
    MPI_Scatter(there, count / 10 + 1, MPI_INT, here, count / 10 + 1, MPI_INT, ranks - 1, world);
    MPI_Allgather(there, count / 10 + 1, MPI_INT, here, count / 10 + 1, MPI_INT, world);
    MPI_Alltoall(there, count / 10 + 1, MPI_INT, here, count / 10 + 1, MPI_INT, world);
    MPI_Scan(there, here, count, MPI_INT, MPI_SUM, world);
    MPI_Exscan(there, here, count, MPI_INT, MPI_SUM, world);
    MPI_Reduce_scatter_block(there, here, count / 10 + 1, MPI_INT, MPI_SUM, world);
  }
  MPI_Gatherv(there, counts[rank], MPI_INT, here, counts, places, MPI_INT, 0, world);
  MPI_Scatterv(there, counts, places, MPI_INT, here, counts[rank], MPI_INT, 0, world);
  MPI_Allgatherv(there, counts[rank], MPI_INT, here, counts, places, MPI_INT, world);
  MPI_Reduce_scatter(there, here, counts, MPI_INT, MPI_SUM, world);
  for (int other = 0; other < ranks; ++other) counts[other] = 25;
  MPI_Alltoallv(there, counts, places, MPI_INT, here, counts, places, MPI_INT, world);
}

static void communicators(void) {
  MPI_Comm rows, copy, odd, few, grid;
  MPI_Group all, some;
  int dimensions[2] = {ranks / 2, 2}, periodic[2] = {1, 0}, left, right, chosen[2] = {ranks - 1, 0};
  MPI_Comm_split(world, rank / 2, -rank, &rows);
  MPI_Allreduce(there, here, 100, MPI_DOUBLE, MPI_SUM, rows);
  MPI_Comm_dup(rows, &copy);
  MPI_Comm_free(&rows);
  MPI_Bcast(there, 3000, MPI_BYTE, 0, copy);
  MPI_Comm_free(&copy);
  MPI_Comm_split(world, rank % 2 ? 1 : MPI_UNDEFINED, 0, &odd);
  if (odd != MPI_COMM_NULL) MPI_Allgather(there, 10, MPI_DOUBLE, here, 10, MPI_DOUBLE, odd);
  if (odd != MPI_COMM_NULL) MPI_Comm_free(&odd);
  MPI_Cart_create(world, 2, dimensions, periodic, 0, &grid);
  if (grid != MPI_COMM_NULL) {
    MPI_Cart_shift(grid, 0, 1, &left, &right);
    MPI_Sendrecv(there, 100, MPI_DOUBLE, right, 0, here, 100, MPI_DOUBLE, left, 0, grid, MPI_STATUS_IGNORE);
    MPI_Comm_free(&grid);
  }
  MPI_Comm_group(world, &all);
  MPI_Group_incl(all, 2, chosen, &some);
  MPI_Comm_create(world, some, &few);
  if (few != MPI_COMM_NULL) MPI_Reduce(there, here, 1000, MPI_INT, MPI_MAX, 1, few);
  if (few != MPI_COMM_NULL) MPI_Comm_free(&few);
  MPI_Group_free(&all);
  MPI_Group_free(&some);
}

/* Rank 0 receives from all others in any order; sizes identify the sender. */
static void anybody(void) {
  MPI_Status status;
  MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int count, index, done = 0;
  if (rank) {
    MPI_Send(there, 100 * rank, MPI_BYTE, 0, rank, world);
    MPI_Send(there, 100 * rank, MPI_BYTE, 0, 100, world);
    MPI_Send(there, 100 * rank, MPI_BYTE, 0, 200, world);
    return;
  }
  for (int other = 1; other < ranks; ++other) MPI_Recv(here, 1000000, MPI_BYTE, MPI_ANY_SOURCE, other, world, MPI_STATUS_IGNORE);
  for (int other = 1; other < ranks; ++other) {
    MPI_Irecv(here, 1000000, MPI_BYTE, MPI_ANY_SOURCE, 100, world, &request[other % 2]);
    MPI_Waitany(2, request, &index, other % 2 ? &status : MPI_STATUS_IGNORE);
  }
  for (int other = 1; other < ranks; ++other) {
    if (other % 2) {
      MPI_Probe(MPI_ANY_SOURCE, 200, world, &status);
      MPI_Get_count(&status, MPI_BYTE, &count);
      MPI_Recv(here, count, MPI_BYTE, status.MPI_SOURCE, 200, world, MPI_STATUS_IGNORE);
    } else {
      MPI_Irecv(here, 1000000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &request[0]);
      for (done = 0; !done;) MPI_Test(&request[0], &done, MPI_STATUS_IGNORE);
    }
  }
}

#ifndef SIMULATED
/* Rank 0 receives during a non-blocking barrier what rank 1 sends after it. */
static void overlap(void) {
  MPI_Request request;
  MPI_Ibarrier(world, &request);
  if (rank == 0) MPI_Recv(here, 100, MPI_BYTE, 1, 0, world, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(there, 100, MPI_BYTE, 0, 0, world);
}

/* Rank 0 duplicates the communicator after a message that rank 1 sends while it duplicates it. */
static void idup(void) {
  MPI_Comm copy;
  MPI_Request request;
  if (rank == 0) MPI_Recv(here, 100, MPI_BYTE, 1, 0, world, MPI_STATUS_IGNORE);
  MPI_Comm_idup(world, &copy, &request);
  if (rank == 1) MPI_Send(there, 100, MPI_BYTE, 0, 0, world);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&copy);
}

/* A send to a rank that does not exist fails; so do receives of half a message, which take it nevertheless. */
static void failed(int truncated) {
  MPI_Request request;
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  if (MPI_Send(there, 8, MPI_BYTE, ranks, 0, world) == MPI_SUCCESS) exit(4);
  if (truncated && rank == 0) {
    MPI_Send(there, 8, MPI_BYTE, 1, 0, world);
    MPI_Send(there, 8, MPI_BYTE, 1, 1, world);
  }
  if (truncated && rank == 1) {
    if (MPI_Recv(here, 4, MPI_BYTE, 0, 0, world, MPI_STATUS_IGNORE) == MPI_SUCCESS) exit(4);
    MPI_Irecv(here, 4, MPI_BYTE, 0, 1, world, &request);
    if (MPI_Waitall(1, &request, MPI_STATUSES_IGNORE) == MPI_SUCCESS) exit(4);
  }
  ring();
}

/* Calls that SimGrid lacks and the replayer replaces by others. */
static void others(void) {
  MPI_Comm grid, copy, line;
  MPI_Message message;
  MPI_Request request;
  MPI_Status status;
  MPI_Win window;
  int dimension = ranks, periodic = 1, *memory, value = rank;
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  MPI_Cart_create(world, 1, &dimension, &periodic, 0, &grid);
  MPI_Cart_sub(grid, &periodic, &line);
  MPI_Barrier(line);
  MPI_Comm_free(&line);
  MPI_Neighbor_alltoall(there, 1000, MPI_BYTE, here, 1000, MPI_BYTE, grid);
  MPI_Ineighbor_allgather(there, 1000, MPI_BYTE, here, 1000, MPI_BYTE, grid, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4
  MPI_Comm_idup_with_info(grid, MPI_INFO_NULL, &copy, &request);
#else
  MPI_Comm_idup(grid, &copy, &request);
#endif
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Isend(there, 77, MPI_BYTE, right, 0, copy, &request);
  MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, copy, &message, &status);
  MPI_Mrecv(here, 77, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  MPI_Irecv(here, 1, MPI_BYTE, left, 99, copy, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Ibarrier(world, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Iallreduce(there, here, 10, MPI_INT, MPI_SUM, world, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_allocate(1000 * sizeof(int), sizeof(int), MPI_INFO_NULL, world, &memory, &window);
  MPI_Win_fence(0, window);
  MPI_Put(&value, 1, MPI_INT, right, 3, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window);
  MPI_Get(here, 500, MPI_INT, right, 0, 500, MPI_INT, window);
  MPI_Win_unlock(right, window);
  MPI_Win_free(&window);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&grid);
}

/* Rank 0 asks for a message that rank 1 sends late, and waits for one that rank 1 receives late. */
static void waits(void) {
  MPI_Request request;
  void* buffer = there;
  int done = 0, bytes = sizeof there;
  if (rank == 0) {
    MPI_Irecv(here, 100, MPI_BYTE, 1, 0, world, &request);
    while (!done) MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Buffer_attach(buffer, bytes);
    MPI_Bsend(here, 500000, MPI_BYTE, 1, 0, world);
    MPI_Buffer_detach(&buffer, &bytes);
  } else if (rank == 1) {
    usleep(200000);
    MPI_Send(there, 100, MPI_BYTE, 0, 0, world);
    usleep(200000);
    MPI_Recv(here, 500000, MPI_BYTE, 0, 0, world, MPI_STATUS_IGNORE);
  }
}

/* Completes requests in every way; MPIs give those of short messages that were sent at once the same handle. */
static void many(void) {
  enum { each = 1000 };
  static MPI_Request sent[each], got[each];
  int places[each], index, count, done;
  for (int at = 0; at < each; ++at) MPI_Irecv(here + 8 * at, 8, MPI_BYTE, (rank + ranks - 1) % ranks, 0, world, &got[at]);
  for (int at = 0; at < each; ++at) MPI_Isend(there, 8, MPI_BYTE, (rank + 1) % ranks, 0, world, &sent[at]);
  for (int at = 0; at < 50; ++at) MPI_Request_free(&sent[7 * at]);
  for (int at = 0; at < 50; ++at) MPI_Wait(&sent[7 * at + 1], MPI_STATUS_IGNORE);
  for (int at = 0; at < 50; ++at) MPI_Waitany(each, sent, &index, MPI_STATUS_IGNORE);
  MPI_Testany(each, sent, &index, &done, MPI_STATUS_IGNORE);
  MPI_Testsome(300, sent, &count, places, MPI_STATUSES_IGNORE);
  MPI_Waitsome(400, sent, &count, places, MPI_STATUSES_IGNORE);
  MPI_Testall(each, sent, &done, MPI_STATUSES_IGNORE);
  MPI_Waitall(each, got, MPI_STATUSES_IGNORE);
  MPI_Waitall(each, sent, MPI_STATUSES_IGNORE);
}

/* Rank 0 makes a communicator with rank 1 without one that both have. */
static void connection(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm made;
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, world);
  if (rank == 0) MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made);
  if (rank == 1) MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made);
  if (rank < 2) MPI_Comm_disconnect(&made);
}

/* In the first dimension both neighbours are the same rank, which receives what is sent down from above. */
static void cartesian(void) {
  MPI_Comm grid;
  int extent[2] = {2, 4}, periodic[2] = {1, 1};
  int to[4] = {10, 20, 30, 40}, from[4] = {20, 10, 40, 30}, places[4] = {0, 100, 200, 300};
  MPI_Cart_create(world, 2, extent, periodic, 0, &grid);
  MPI_Neighbor_alltoallv(there, to, places, MPI_BYTE, here, from, places, MPI_BYTE, grid);
  MPI_Comm_free(&grid);
}

/* Three parts to each of two neighbours. */
static void parallel(void) {
  MPI_Comm graph;
  MPI_Request request;
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  int sources[6] = {left, left, right, left, right, right}, targets[6] = {right, right, left, right, left, left};
  int bytes[6] = {10, 20, 0, 30, 50, 40}, places[6] = {0, 100, 200, 300, 400, 500};
  MPI_Dist_graph_create_adjacent(world, 6, sources, MPI_UNWEIGHTED, 6, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  MPI_Neighbor_alltoallv(there, bytes, places, MPI_BYTE, here, bytes, places, MPI_BYTE, graph);
  MPI_Ineighbor_alltoallv(there, bytes, places, MPI_BYTE, here, bytes, places, MPI_BYTE, graph, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&graph);
}

#endif

static void compute(void) {
  volatile double value = 1;
  for (long step = 0; step < 20000000 * (1 + rank % 2); ++step) value = value * 0.999999 + 1e-6;
  MPI_Barrier(world);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  for (int at = 1; at < argc; ++at) {
    if (!strcmp(argv[at], "ring")) ring();
    if (!strcmp(argv[at], "requests")) requests();
    if (!strcmp(argv[at], "collectives")) collectives();
    if (!strcmp(argv[at], "communicators")) communicators();
    if (!strcmp(argv[at], "anybody")) anybody();
    if (!strcmp(argv[at], "compute")) compute();
#ifndef SIMULATED
    if (!strcmp(argv[at], "overlap")) overlap();
    if (!strcmp(argv[at], "idup")) idup();
    if (!strcmp(argv[at], "failed")) failed(0);
    if (!strcmp(argv[at], "truncated")) failed(1);
    if (!strcmp(argv[at], "others")) others();
    if (!strcmp(argv[at], "waits")) waits();
    if (!strcmp(argv[at], "many")) many();
    if (!strcmp(argv[at], "connection")) connection();
    if (!strcmp(argv[at], "cartesian")) cartesian();
    if (!strcmp(argv[at], "parallel")) parallel();
#endif
    if (!strcmp(argv[at], "abort") && rank == 0) MPI_Abort(world, 3);
  }
  if (rank == 0) puts("done");
  MPI_Finalize();
  return 0;
}
