/* Patterns with known counts: halo on a periodic grid, ring, alltoall and others; the first argument selects one. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, ranks;
static char out[1 << 16], in[1 << 16];

/* Four neighbours on a grid of two columns, ten steps of 1000 B; persistent and other requests alternate. */
static void halo(void) {
  int sizes[2] = {0, 2}, periods[2] = {1, 1}, to[4];
  MPI_Comm grid;
  MPI_Dims_create(ranks, 2, sizes);
  MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &grid);
  MPI_Cart_shift(grid, 0, 1, &to[0], &to[1]);
  MPI_Cart_shift(grid, 1, 1, &to[2], &to[3]);
  MPI_Request persistent[8], once[8];
  for (int n = 0; n < 4; ++n) {
    MPI_Recv_init(in + 1000 * n, 1000, MPI_CHAR, to[n], n ^ 1, grid, &persistent[n]);
    MPI_Send_init(out + 1000 * n, 250, MPI_INT, to[n], n, grid, &persistent[4 + n]);
  }
  for (int step = 0; step < 5; ++step) {
    MPI_Startall(8, persistent);
    MPI_Waitall(8, persistent, MPI_STATUSES_IGNORE);
    for (int n = 0; n < 4; ++n) MPI_Irecv(in + 1000 * n, 1000, MPI_CHAR, to[n], n ^ 1, grid, &once[n]);
    for (int n = 0; n < 4; ++n) MPI_Isend(out + 1000 * n, 1000, MPI_CHAR, to[n], n, grid, &once[4 + n]);
    for (int n = 0; n < 8; ++n) MPI_Wait(&once[n], MPI_STATUS_IGNORE);
  }
  for (int n = 0; n < 8; ++n) MPI_Request_free(&persistent[n]);
  MPI_Neighbor_alltoall(out, 10, MPI_CHAR, in, 10, MPI_CHAR, grid);
  MPI_Comm_free(&grid);
}

static void ring(int steps) {
  for (int step = 0; step < steps; ++step)
    MPI_Sendrecv(out, 100, MPI_CHAR, (rank + 1) % ranks, 7, in, 100, MPI_CHAR, (rank + ranks - 1) % ranks, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* 4 MB from each rank to the next one, five times. */
static void bulk(void) {
  char* much = malloc(8000000);
  for (int step = 0; step < 5; ++step)
    MPI_Sendrecv(much, 4000000, MPI_CHAR, (rank + 1) % ranks, 7, much + 4000000, 4000000, MPI_CHAR,
                 (rank + ranks - 1) % ranks, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  free(much);
}

static void collectives(void) {
  int counts[64], places[64];
  for (int other = 0; other < ranks; ++other) counts[other] = other + 1, places[other] = 64 * other;
  MPI_Alltoall(out, 8, MPI_CHAR, in, 8, MPI_CHAR, MPI_COMM_WORLD);                           /* 8 B to each rank */
  MPI_Alltoallv(out, counts, places, MPI_CHAR, in, counts, places, MPI_CHAR, MPI_COMM_SELF); /* to itself only */
  MPI_Bcast(out, 5, MPI_INT, 1, MPI_COMM_WORLD);                                            /* 20 B from rank 1 */
  MPI_Gather(out, 3, MPI_CHAR, in, 3, MPI_CHAR, 0, MPI_COMM_WORLD);                         /* 3 B to rank 0 */
  MPI_Allreduce(MPI_IN_PLACE, out, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);                 /* 2/n of 32 B to each */
  MPI_Scan(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);                                   /* 4 B to the next rank */
  MPI_Reduce_scatter(out, in, counts, MPI_CHAR, MPI_BOR, MPI_COMM_WORLD);                   /* r + 1 B to rank r */
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Two halves of the world in reverse order, so that ranks of the communicator differ from world ranks. */
static void split(void) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  int mine, all;
  MPI_Comm_rank(half, &mine);
  MPI_Comm_size(half, &all);
  if (mine == 0 && all > 1) MPI_Send(out, 11, MPI_CHAR, all - 1, 0, half); /* the last world rank of the half to the first */
  if (mine == all - 1 && all > 1) MPI_Recv(in, 11, MPI_CHAR, MPI_ANY_SOURCE, 0, half, MPI_STATUS_IGNORE);
  MPI_Comm_free(&half);
}

static void onesided(void) {
  MPI_Win win;
  MPI_Win_create(in, sizeof in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Put(out, 40, MPI_CHAR, (rank + 1) % ranks, 0, 40, MPI_CHAR, win);
  MPI_Get(out + 100, 60, MPI_CHAR, (rank + 1) % ranks, 1000, 60, MPI_CHAR, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

static void* sends_to_itself(void* given) {
  const int tag = *(int*)given;
  char byte = 0, back;
  for (int n = 0; n < 1000; ++n) {
    MPI_Request request;
    MPI_Irecv(&back, 1, MPI_CHAR, rank, tag, MPI_COMM_WORLD, &request);
    MPI_Send(&byte, 1, MPI_CHAR, rank, tag, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return NULL;
}

static void threads(void) {
  pthread_t team[4];
  int tags[4] = {0, 1, 2, 3};
  for (int n = 0; n < 4; ++n) pthread_create(&team[n], NULL, sends_to_itself, &tags[n]);
  for (int n = 0; n < 4; ++n) pthread_join(team[n], NULL);
}

/* Two threads; the second one sends before and after one second in which counting is off. */
static pthread_barrier_t both;
static void* sends_twice(void* tag) {
  sends_to_itself(tag);
  pthread_barrier_wait(&both);
  pthread_barrier_wait(&both);
  return sends_to_itself(tag);
}
static void off(void) {
  pthread_t second;
  int tag = 0;
  pthread_barrier_init(&both, NULL, 2);
  pthread_create(&second, NULL, sends_twice, &tag);
  pthread_barrier_wait(&both);
  MPI_Pcontrol(0);
  sleep(1);
  MPI_Pcontrol(1);
  pthread_barrier_wait(&both);
  pthread_join(second, NULL);
}

/* An attribute of the world that refuses to be copied. */
static int copies;
static int refuse(MPI_Comm comm, int key, void* extra, void* value, void* copy, int* flag) {
  return ++copies, MPI_ERR_OTHER;
}
static void attribute(void) {
  int key;
  MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, &copies);
}

int main(int count, char** words) {
  const char* what = count > 1 ? words[1] : "ring";
  const int several = !strcmp(what, "threads") || !strcmp(what, "off");
  int given;
  MPI_Init_thread(&count, &words, several ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!strcmp(what, "halo")) halo();
  if (!strcmp(what, "collectives")) collectives();
  if (!strcmp(what, "split")) split();
  if (!strcmp(what, "onesided")) onesided();
  if (!strcmp(what, "threads")) threads();
  if (!strcmp(what, "off")) off();
  if (!strcmp(what, "bulk")) bulk();
  if (!strcmp(what, "attribute")) ring(10), attribute();
  if (!strcmp(what, "all")) halo(), collectives(), split(), onesided();
  if (!strcmp(what, "phases")) {
    ring(1);
    MPI_Pcontrol(2);
    ring(2);
    MPI_Pcontrol(0);
    ring(4);
    MPI_Pcontrol(1);
    ring(8);
  }
  if (!strcmp(what, "fork")) {
    ring(3);
    const pid_t child = fork();
    if (child == 0) exit(0);
    int status;
    waitpid(child, &status, 0);
    if (system("true")) return 1;
  }
  if (!strcmp(what, "ring") || !strcmp(what, "left") || !strcmp(what, "abort") || !strcmp(what, "killed")) ring(10);
  if (rank == 0) printf("done %s\n", what), fprintf(stderr, "told\n"), fflush(stdout);
  if (!strcmp(what, "left")) MPI_Barrier(MPI_COMM_WORLD), _exit(4);
  if (!strcmp(what, "abort")) {
    MPI_Barrier(MPI_COMM_WORLD); /* else rank 0 may abort while another rank is still in its last step */
    if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 5);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!strcmp(what, "killed")) {
    if (rank == ranks - 1) sleep(1), kill(getpid(), 9);
    MPI_Recv(in, 1, MPI_CHAR, ranks - 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (!strcmp(what, "clears")) ring(10), clearenv();
  MPI_Finalize();
  if (copies) return 4;
  return !strcmp(what, "ring") ? 3 * (count > 2) : 0;
}
