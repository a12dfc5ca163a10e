/* Programs whose threads call MPI; an argument selects one. Ranks are in pairs. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

int main(int argc, char** argv) {
  const int wanted = !strcmp(argv[1], "turns") ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
  int provided;
  MPI_Init_thread(&argc, &argv, strcmp(argv[1], "illegal") ? wanted : MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(world, &rank);
  other = rank ^ 1;
  pthread_barrier_init(&both, NULL, 2);
  if (provided < wanted && strcmp(argv[1], "illegal")) return 3;
  if (!strcmp(argv[1], "turns") || !strcmp(argv[1], "illegal")) with_thread(second_turns, first_turns);
  if (rank == 0) puts("done");
  MPI_Finalize();
  return 0;
}
