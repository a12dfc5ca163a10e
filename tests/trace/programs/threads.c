/* Programs whose threads call MPI; an argument selects one. Ranks are in pairs. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define world MPI_COMM_WORLD
enum { steps = 10 };
static int rank, other;
static char there[1 << 20], here[1 << 20], there_too[1 << 20], here_too[1 << 20];
static pthread_barrier_t both;

/* Takes so much processor time. */
static void busy(double milliseconds) {
  struct timespec begun, now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while (1e3 * (now.tv_sec - begun.tv_sec) + 1e-6 * (now.tv_nsec - begun.tv_nsec) < milliseconds);
}

static void with_thread(void* (*body)(void*), void (*own)(void)) {
  pthread_t thread;
  pthread_create(&thread, NULL, body, NULL);
  own();
  pthread_join(thread, NULL);
}

/* One thread computes, then the other exchanges messages, and next time the other way round. */
static void turns(int mine) {
  for (int step = 0; step < steps; ++step) {
    if (step % 2 == mine) busy(5);
    pthread_barrier_wait(&both);
    if (step % 2 != mine) MPI_Sendrecv(there, 1000 + step, MPI_BYTE, other, step, here, 1000 + step, MPI_BYTE, other, step, world, MPI_STATUS_IGNORE);
    pthread_barrier_wait(&both);
  }
}
static void* second_turns(void* nothing) { return turns(1), nothing; }
static void first_turns(void) { turns(0); }

/* The second thread of an odd rank waits for a message while the first computes. */
static void* second_hidden(void* nothing) {
  MPI_Recv(here_too, 1000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
  return nothing;
}
static void first_hidden(void) {
  busy(200);
  MPI_Send(there, 100, MPI_BYTE, other, 2, world);
}
static void hidden(void) {
  if (rank % 2) {
    with_thread(second_hidden, first_hidden);
  } else {
    MPI_Send(there, 100, MPI_BYTE, other, 1, world);
    MPI_Recv(here, 100, MPI_BYTE, other, 2, world, MPI_STATUS_IGNORE);
  }
}

/* A call of the second thread ends only after calls of the first that need its beginning. */
static void* second_chain(void* name) {
  if (!strcmp(name, "chain"))
    MPI_Sendrecv(there_too, 100, MPI_BYTE, other, 1, here_too, 1 << 20, MPI_BYTE, MPI_ANY_SOURCE, 4, world, MPI_STATUS_IGNORE);
  if (!strcmp(name, "allreduce")) MPI_Allreduce(there_too, here_too, 100, MPI_BYTE, MPI_BOR, world);
  if (!strcmp(name, "barrier")) MPI_Barrier(world);
  if (!strcmp(name, "dup")) {
    MPI_Comm copy;
    MPI_Comm_dup(world, &copy);
  }
  return NULL;
}
static void chain(char* name) {
  pthread_t thread;
  const int together = strcmp(name, "chain");
  if (rank % 2) {
    pthread_create(&thread, NULL, second_chain, name);
    if (together) usleep(500000), MPI_Send(there, 200, MPI_BYTE, other, 2, world);
    if (!together) MPI_Recv(here, 200, MPI_BYTE, MPI_ANY_SOURCE, 2, world, MPI_STATUS_IGNORE);
    if (!together) MPI_Send(there, 300, MPI_BYTE, other, 3, world);
    pthread_join(thread, NULL);
  } else if (together) {
    MPI_Recv(here, 200, MPI_BYTE, other, 2, world, MPI_STATUS_IGNORE);
    second_chain(name);
  } else {
    MPI_Recv(here, 100, MPI_BYTE, other, 1, world, MPI_STATUS_IGNORE);
    MPI_Send(there, 200, MPI_BYTE, other, 2, world);
    MPI_Recv(here, 300, MPI_BYTE, other, 3, world, MPI_STATUS_IGNORE);
    MPI_Send(there, 400, MPI_BYTE, other, 4, world);
  }
}

/* The second thread of an odd rank receives while the first begins to receive. The first request's event causes those of
 * the second thread, whose request is the second. */
static void* second_wild(void* nothing) {
  MPI_Recv(here_too, 100, MPI_BYTE, MPI_ANY_SOURCE, 1, world, MPI_STATUS_IGNORE);
  return nothing;
}
static void first_wild(void) {
  MPI_Request request;
  usleep(500000);
  MPI_Irecv(here, 200, MPI_BYTE, MPI_ANY_SOURCE, 2, world, &request);
  MPI_Send(there, 300, MPI_BYTE, other, 3, world);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void wild(void) {
  if (rank % 2) {
    with_thread(second_wild, first_wild);
  } else {
    MPI_Recv(here, 300, MPI_BYTE, other, 3, world, MPI_STATUS_IGNORE);
    MPI_Send(there, 200, MPI_BYTE, other, 2, world);
    MPI_Send(there, 100, MPI_BYTE, other, 1, world);
  }
}

int main(int argc, char** argv) {
  const int wanted = !strcmp(argv[1], "turns") ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
  int provided;
  MPI_Init_thread(&argc, &argv, strcmp(argv[1], "illegal") ? wanted : MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(world, &rank);
  other = rank ^ 1;
  pthread_barrier_init(&both, NULL, 2);
  if (provided < wanted && strcmp(argv[1], "illegal")) return 3;
  if (!strcmp(argv[1], "turns") || !strcmp(argv[1], "illegal")) with_thread(second_turns, first_turns);
  else if (!strcmp(argv[1], "hidden")) hidden();
  else if (!strcmp(argv[1], "wild")) wild();
  else chain(argv[1]);
  if (rank == 0) puts("done");
  MPI_Finalize();
  return 0;
}
