/* Collectives on the world and on communicators that order its ranks differently: prints the results and, on
   rank 0, the time of each communicator's second round; the first may contain one-time setup. */
#include <mpi.h>
#include <stdio.h>

enum { COUNT = 600 };

/* A non-commutative operator: returns the lower rank's value. */
static void lower(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] = ((int*)in)[i];
}

static void round_of(MPI_Comm comm, int told) {
  int rank, ranks, in[COUNT], out[COUNT], all[64 * COUNT];
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  MPI_Op of_lower;
  MPI_Op_create(lower, 0, &of_lower);
  for (int root = 0; root < ranks; root += 2)
    for (int count = 2; count <= COUNT; count *= 300) {
      long sum = 0;
      for (int i = 0; i < count; ++i) in[i] = 1000 * rank + i + root;
      MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, root, comm);
      MPI_Bcast(out, count, MPI_INT, root, comm);
      for (int i = 0; i < count; ++i) sum += out[i];
      MPI_Allreduce(in, out, count, MPI_INT, MPI_MAX, comm);
      for (int i = 0; i < count; ++i) sum += out[i];
      MPI_Allreduce(in, out, count, MPI_INT, of_lower, comm);
      for (int i = 0; i < count; ++i) sum += 3 * out[i];
      for (int i = 0; i < count; ++i) out[i] = in[i];
      MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_INT, MPI_MIN, comm);
      for (int i = 0; i < count; ++i) sum += 5 * out[i];
      MPI_Gather(in, count, MPI_INT, all, count, MPI_INT, root, comm);
      MPI_Scatter(all, count, MPI_INT, out, count, MPI_INT, root, comm);
      for (int i = 0; i < count; ++i) sum += out[i];
      MPI_Allgather(in, count, MPI_INT, all, count, MPI_INT, comm);
      for (int i = 0; i < ranks * count; ++i) sum += all[i];
      MPI_Barrier(comm);
      if (told) printf("%d of %d, root %d, %d: %ld\n", rank, ranks, root, count, sum);
    }
  MPI_Op_free(&of_lower);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Comm reversed, halves;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, (rank * 7) % ranks, &halves);
  MPI_Comm comms[] = {MPI_COMM_WORLD, reversed, halves};
  for (int i = 0; i < 3; ++i) {
    round_of(comms[i], 1);
    const double begun = MPI_Wtime();
    round_of(comms[i], 0);
    if (rank == 0) printf("%.9f s\n", MPI_Wtime() - begun);
  }
  MPI_Comm_free(&reversed);
  MPI_Comm_free(&halves);
  MPI_Finalize();
  return 0;
}
