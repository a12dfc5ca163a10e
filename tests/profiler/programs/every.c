/* Every wrapped call, at least once, by two ranks. Where one rank waits for the other, the other is late by 30 ms.
 *
 *     every messages, every others: two runs, because the profiler has no room for that many calls in one */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 4 };

static int rank, other;
static MPI_Comm ring; /* periodic: the other rank is both neighbours */
static int out[N * N], in[N * N];
static const MPI_Datatype type = MPI_INT;
static const MPI_Comm comm = MPI_COMM_WORLD;
/* Arguments of collectives: both ranks' parts are contiguous. */
static int counts[2] = {1, 1}, places[2] = {0, 1}, bytes[2] = {0, sizeof(int)};
static MPI_Datatype types[2];
/* The same for neighbourhood collectives; both neighbours are the same rank. */
static MPI_Aint addresses[2] = {0, sizeof(int)};

/* Synchronises both ranks, then delays one of them. */
static void late(int who) {
  MPI_Barrier(comm);
  if (rank == who) {
    const struct timespec time = {0, 30 * 1000 * 1000};
    nanosleep(&time, NULL);
  }
}

/* A call by both ranks, one of which is late. */
#define LATE(who, ...) late(who), __VA_ARGS__
/* The same for a non-blocking call, whose request is the last argument. */
#define LATER(who, ...)                   \
  do {                                    \
    MPI_Request request;                  \
    late(who);                            \
    __VA_ARGS__;                          \
    MPI_Wait(&request, MPI_STATUS_IGNORE); \
  } while (0)
/* A late message from rank 1, and the call by which rank 0 waits for it. */
#define RECEIVED(...)                                    \
  do {                                                   \
    late(1);                                             \
    if (rank == 1) MPI_Send(out, N, type, 0, 0, comm);   \
    else { __VA_ARGS__; }                                \
  } while (0)

static void blocking(void) {
  MPI_Status status;
  MPI_Message message;
  RECEIVED(MPI_Recv(in, N, type, 1, 0, comm, &status));
  RECEIVED(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status), MPI_Recv(in, N, type, 1, 0, comm, &status));
  RECEIVED(MPI_Mprobe(1, 0, comm, &message, &status), MPI_Mrecv(in, N, type, &message, &status));
  LATE(1, MPI_Sendrecv(out, N, type, other, 0, in, N, type, other, 0, comm, &status));
  LATE(1, MPI_Sendrecv_replace(in, N, type, other, 0, other, 0, comm, &status));
  late(1);
  if (rank == 0) MPI_Ssend(out, N, type, 1, 0, comm);
  else MPI_Recv(in, N, type, 0, 0, comm, &status);
  /* No rank is late for these calls. */
  MPI_Request receipt;
  MPI_Irecv(in, N, type, other, 0, comm, &receipt);
  MPI_Barrier(comm);
  MPI_Rsend(out, N, type, other, 0, comm);
  MPI_Wait(&receipt, &status);
  MPI_Bsend(out, N, type, other, 0, comm);
  MPI_Recv(in, N, type, other, 0, comm, &status);
}

/* Each completion call waits for one request. */
static void requests(void) {
  MPI_Request request, both[2];
  MPI_Status status, statuses[2];
  MPI_Message message;
  int index, many, done, indices[2];
  RECEIVED(MPI_Irecv(in, N, type, 1, 0, comm, &request), MPI_Wait(&request, &status));
  RECEIVED(MPI_Irecv(in, N, type, 1, 0, comm, &request), MPI_Waitall(1, &request, &status));
  RECEIVED(MPI_Irecv(in, N, type, 1, 0, comm, &request), MPI_Waitany(1, &request, &index, &status));
  RECEIVED(MPI_Irecv(in, N, type, 1, 0, comm, &request), MPI_Waitsome(1, &request, &many, indices, &status));
  /* The probed message has arrived. */
  RECEIVED(do MPI_Improbe(1, 0, comm, &done, &message, &status); while (!done);
           MPI_Imrecv(in, N, type, &message, &request); MPI_Wait(&request, &status));
  RECEIVED(do MPI_Iprobe(1, 0, comm, &done, &status); while (!done); MPI_Recv(in, N, type, 1, 0, comm, &status));
  RECEIVED(MPI_Irecv(in, N, type, 1, 0, comm, &request); do MPI_Test(&request, &done, &status); while (!done));
  RECEIVED(MPI_Irecv(in, N, type, 1, 0, comm, &request); do MPI_Testall(1, &request, &done, &status); while (!done));
  RECEIVED(MPI_Irecv(in, N, type, 1, 0, comm, &request);
           do MPI_Request_get_status(request, &done, &status); while (!done);
           MPI_Wait(&request, &status));
  RECEIVED(MPI_Irecv(in, N, type, 1, 0, comm, &request);
           do MPI_Testany(1, &request, &index, &done, &status); while (!done));
  RECEIVED(MPI_Irecv(in, N, type, 1, 0, comm, &request);
           do MPI_Testsome(1, &request, &many, indices, &status); while (many == 0));

  /* Each kind of send, with a late receiver. */
  late(1);
  if (rank == 0) MPI_Issend(out, N, type, 1, 0, comm, &request), MPI_Wait(&request, &status);
  else MPI_Recv(in, N, type, 0, 0, comm, &status);
  late(1);
  if (rank == 0) {
    MPI_Ssend_init(out, N, type, 1, 0, comm, &request);
    MPI_Start(&request), MPI_Wait(&request, &status), MPI_Request_free(&request);
  } else {
    MPI_Recv(in, N, type, 0, 0, comm, &status);
  }
  /* Buffered sends, and sends whose receive is posted, do not wait. */
  int (*const sends[])(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = {MPI_Isend, MPI_Ibsend, MPI_Irsend};
  int (*const prepares[])(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = {MPI_Send_init, MPI_Bsend_init,
                                                                                                MPI_Rsend_init};
  for (int kind = 0; kind < 3; ++kind) {
    MPI_Irecv(in, N, type, other, 0, comm, &both[0]);
    MPI_Barrier(comm);
    sends[kind](out, N, type, other, 0, comm, &both[1]);
    MPI_Waitall(2, both, statuses);
    MPI_Recv_init(in, N, type, other, 0, comm, &both[0]);
    prepares[kind](out, N, type, other, 0, comm, &both[1]);
    MPI_Start(&both[0]);
    MPI_Barrier(comm);
    MPI_Startall(1, &both[1]);
    MPI_Waitall(2, both, statuses);
    MPI_Request_free(&both[0]), MPI_Request_free(&both[1]);
  }
}

static void collectives(void) {
  LATE(1, MPI_Barrier(comm));
  LATE(1, MPI_Bcast(in, N, type, 1, comm));
  LATE(1, MPI_Scatter(out, 1, type, in, 1, type, 1, comm));
  LATE(1, MPI_Scatterv(out, counts, places, type, in, 1, type, 1, comm));
  LATE(1, MPI_Gather(out, 1, type, in, 1, type, 0, comm));
  LATE(1, MPI_Gatherv(out, 1, type, in, counts, places, type, 0, comm));
  LATE(1, MPI_Reduce(out, in, N, type, MPI_SUM, 0, comm));
  LATE(1, MPI_Allgather(out, 1, type, in, 1, type, comm));
  LATE(1, MPI_Allgatherv(out, 1, type, in, counts, places, type, comm));
  LATE(1, MPI_Alltoall(out, 1, type, in, 1, type, comm));
  LATE(1, MPI_Alltoallv(out, counts, places, type, in, counts, places, type, comm));
  LATE(1, MPI_Alltoallw(out, counts, bytes, types, in, counts, bytes, types, comm));
  LATE(1, MPI_Allreduce(out, in, N, type, MPI_SUM, comm));
  LATE(1, MPI_Reduce_scatter(out, in, counts, type, MPI_SUM, comm));
  LATE(1, MPI_Reduce_scatter_block(out, in, 1, type, MPI_SUM, comm));
  LATE(0, MPI_Scan(out, in, N, type, MPI_SUM, comm));
  LATE(0, MPI_Exscan(out, in, N, type, MPI_SUM, comm));
  LATE(1, MPI_Neighbor_allgather(out, 1, type, in, 1, type, ring));
  LATE(1, MPI_Neighbor_allgatherv(out, 1, type, in, counts, places, type, ring));
  LATE(1, MPI_Neighbor_alltoall(out, 1, type, in, 1, type, ring));
  LATE(1, MPI_Neighbor_alltoallv(out, counts, places, type, in, counts, places, type, ring));
  LATE(1, MPI_Neighbor_alltoallw(out, counts, addresses, types, in, counts, addresses, types, ring));

  LATER(1, MPI_Ibarrier(comm, &request));
  LATER(1, MPI_Ibcast(in, N, type, 1, comm, &request));
  LATER(1, MPI_Iscatter(out, 1, type, in, 1, type, 1, comm, &request));
  LATER(1, MPI_Iscatterv(out, counts, places, type, in, 1, type, 1, comm, &request));
  LATER(1, MPI_Igather(out, 1, type, in, 1, type, 0, comm, &request));
  LATER(1, MPI_Igatherv(out, 1, type, in, counts, places, type, 0, comm, &request));
  LATER(1, MPI_Ireduce(out, in, N, type, MPI_SUM, 0, comm, &request));
  LATER(1, MPI_Iallgather(out, 1, type, in, 1, type, comm, &request));
  LATER(1, MPI_Iallgatherv(out, 1, type, in, counts, places, type, comm, &request));
  LATER(1, MPI_Ialltoall(out, 1, type, in, 1, type, comm, &request));
  LATER(1, MPI_Ialltoallv(out, counts, places, type, in, counts, places, type, comm, &request));
  LATER(1, MPI_Ialltoallw(out, counts, bytes, types, in, counts, bytes, types, comm, &request));
  LATER(1, MPI_Iallreduce(out, in, N, type, MPI_SUM, comm, &request));
  LATER(1, MPI_Ireduce_scatter(out, in, counts, type, MPI_SUM, comm, &request));
  LATER(1, MPI_Ireduce_scatter_block(out, in, 1, type, MPI_SUM, comm, &request));
  LATER(0, MPI_Iscan(out, in, N, type, MPI_SUM, comm, &request));
  LATER(0, MPI_Iexscan(out, in, N, type, MPI_SUM, comm, &request));
  LATER(1, MPI_Ineighbor_allgather(out, 1, type, in, 1, type, ring, &request));
  LATER(1, MPI_Ineighbor_allgatherv(out, 1, type, in, counts, places, type, ring, &request));
  LATER(1, MPI_Ineighbor_alltoall(out, 1, type, in, 1, type, ring, &request));
  LATER(1, MPI_Ineighbor_alltoallv(out, counts, places, type, in, counts, places, type, ring, &request));
  LATER(1, MPI_Ineighbor_alltoallw(out, counts, addresses, types, in, counts, addresses, types, ring, &request));
}

static void cancelled(void) {
  MPI_Request request;
  MPI_Status status;
  /* A receive that can be cancelled, and one whose message has already arrived. */
  MPI_Irecv(in, N, type, other, 9, comm, &request);
  MPI_Cancel(&request), MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Irecv(in, N, type, other, 0, comm, &request);
  MPI_Send(out, N, type, other, 0, comm), MPI_Send(out, N, type, other, 8, comm);
  MPI_Recv(in + N, N, type, other, 8, comm, &status); /* the message before it has arrived by then */
  MPI_Cancel(&request), MPI_Wait(&request, MPI_STATUS_IGNORE);
  RECEIVED(MPI_Recv(in, N, type, 1, 0, comm, &status)); /* matches the next message */
}

/* No wait states are recorded while profiling is off. */
static void controlled(void) {
  MPI_Status status;
  MPI_Barrier(comm);
  MPI_Pcontrol(0);
  LATE(0, MPI_Exscan(out, in, N, type, MPI_SUM, comm));
  MPI_Barrier(comm);
  MPI_Pcontrol(1);
  LATE(1, MPI_Sendrecv(out, N, type, other, 0, in, N, type, other, 0, comm, &status));
}

static void communicators(void) {
  MPI_Comm made, between, again;
  MPI_Group group;
  const int two = 2, periodic = 1, all = 1, degree = 1, index[2] = {1, 2}, edges[2] = {1, 0};
  MPI_Comm_group(comm, &group);
  LATE(1, MPI_Comm_dup(comm, &made));
  LATE(1, MPI_Comm_free(&made)); /* does not wait */
  LATE(1, MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &made));
  MPI_Comm_disconnect(&made);
  LATER(1, MPI_Comm_idup(comm, &made, &request));
  MPI_Comm_free(&made);
  LATE(1, MPI_Comm_create(comm, group, &made));
  MPI_Comm_free(&made);
  LATE(1, MPI_Comm_create_group(comm, group, 0, &made));
  MPI_Comm_free(&made);
  LATE(1, MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
  MPI_Comm_free(&made);
  LATE(1, MPI_Cart_create(comm, 1, &two, &periodic, 0, &made));
  LATE(1, MPI_Cart_sub(made, &all, &again));
  MPI_Comm_free(&again), MPI_Comm_free(&made);
  LATE(1, MPI_Graph_create(comm, 2, index, edges, 0, &made));
  MPI_Comm_free(&made);
  LATE(1, MPI_Dist_graph_create(comm, 1, &rank, &degree, &other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
  MPI_Comm_free(&made);
  LATE(1, MPI_Dist_graph_create_adjacent(comm, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
  MPI_Comm_free(&made);
  LATE(1, MPI_Comm_split(comm, 0, rank, &made));
  MPI_Comm_free(&made);
  MPI_Comm_split(comm, rank, 0, &made);
  MPI_Intercomm_create(made, 0, comm, other, 5, &between);
  MPI_Intercomm_merge(between, rank, &again);
  MPI_Barrier(again); /* on a communicator of unknown origin */
  MPI_Comm_free(&again), MPI_Comm_free(&between), MPI_Comm_free(&made);
  MPI_Group_free(&group);
}

static void windows(void) {
  MPI_Win win;
  MPI_Group group, one;
  MPI_Request request;
  int* base;
  int done;
  static int memory[N];
  MPI_Comm_group(comm, &group);
  MPI_Group_incl(group, 1, &other, &one);
  LATE(1, MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win));
  MPI_Win_free(&win);
  LATE(1, MPI_Win_allocate_shared(sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &base, &win));
  MPI_Win_free(&win);
  LATE(1, MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &win));
  LATE(1, MPI_Win_free(&win));
  LATE(1, MPI_Win_allocate(sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &base, &win));
  MPI_Win_fence(0, win);
  MPI_Put(out, 1, type, other, 0, 1, type, win);
  MPI_Get(in, 1, type, other, 1, 1, type, win);
  MPI_Accumulate(out, 1, type, other, 2, 1, type, MPI_SUM, win);
  LATE(1, MPI_Win_fence(0, win));
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win);
  MPI_Get_accumulate(out, 1, type, in, 1, type, other, 2, 1, type, MPI_SUM, win);
  MPI_Win_flush(other, win);
  MPI_Get_accumulate(out, 1, type, in, 1, type, other, 2, 1, type, MPI_NO_OP, win);
  MPI_Win_flush(other, win);
  MPI_Fetch_and_op(out, in, type, other, 2, MPI_SUM, win);
  MPI_Win_flush_local(other, win);
  MPI_Fetch_and_op(out, in, type, other, 2, MPI_NO_OP, win);
  MPI_Win_flush_local(other, win);
  MPI_Compare_and_swap(out, in + 1, in, type, other, 3, win);
  MPI_Win_unlock(other, win);
  MPI_Win_lock_all(0, win);
  MPI_Rput(out, 1, type, other, 0, 1, type, win, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush_all(win);
  MPI_Rget(in, 1, type, other, 0, 1, type, win, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Raccumulate(out, 1, type, other, 2, 1, type, MPI_SUM, win, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush_local_all(win);
  MPI_Rget_accumulate(out, 1, type, in, 1, type, other, 2, 1, type, MPI_SUM, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Rget_accumulate(out, 1, type, in, 1, type, other, 2, 1, type, MPI_NO_OP, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_sync(win);
  MPI_Win_unlock_all(win);
  MPI_Barrier(comm);
  for (int way = 0; way < 2; ++way) {
    MPI_Win_post(one, 0, win), MPI_Win_start(one, 0, win);
    MPI_Put(out, 1, type, other, 0, 1, type, win);
    MPI_Win_complete(win);
    if (way == 0) MPI_Win_wait(win);
    else do MPI_Win_test(win, &done); while (!done);
  }
  MPI_Win_free(&win);
  MPI_Group_free(&one), MPI_Group_free(&group);
}

int main(int count, char** words) {
  static char room[1 << 16];
  const int two = 2, periodic = 1;
  void* given;
  int size;
  MPI_Init(&count, &words);
  MPI_Comm_rank(comm, &rank);
  other = 1 - rank;
  types[0] = types[1] = type;
  MPI_Buffer_attach(room, sizeof room);
  MPI_Cart_create(comm, 1, &two, &periodic, 0, &ring);
  if (!strcmp(words[1], "messages")) blocking(), requests(), collectives();
  else cancelled(), controlled(), communicators(), windows();
  MPI_Comm_free(&ring);
  MPI_Buffer_detach(&given, &size);
  MPI_Finalize();
}
