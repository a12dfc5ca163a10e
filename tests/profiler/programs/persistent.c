/* Each collective three times.
 *
 *     persistent blocking       by its blocking form
 *     persistent persistent     by its persistent form
 *     persistent partitioned    five messages of four partitions from rank 0 to rank 1 instead (MPI 4) */
#include <mpi.h>
#include <string.h>
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(Name) MPIX_##Name##_init
#else
#define INIT(Name) MPI_##Name##_init
#endif

enum { N = 64, TIMES = 3 };

static int rank, ranks, persistent;
static const MPI_Datatype type = MPI_INT;
static const MPI_Comm comm = MPI_COMM_WORLD;
static MPI_Comm grid;
static int out[N * N], in[N * N], places[N], bytes[N];
static int counts[N], mine[N]; /* elements of each rank, and N times those of this one */
static MPI_Aint addresses[N];
static MPI_Datatype types[N];

#define EACH(Name, ...)                                       \
  do {                                                        \
    MPI_Request request;                                      \
    if (persistent) {                                         \
      INIT(Name)(__VA_ARGS__, MPI_INFO_NULL, &request);       \
      for (int i = 0; i < TIMES; ++i) {                       \
        if (i == 0) MPI_Start(&request);                      \
        else MPI_Startall(1, &request);                       \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                \
      }                                                       \
      MPI_Request_free(&request);                             \
    } else {                                                  \
      for (int i = 0; i < TIMES; ++i) MPI_##Name(__VA_ARGS__); \
    }                                                         \
  } while (0)

static void collectives(void) {
  EACH(Barrier, comm);
  EACH(Bcast, in, 5, type, 1, comm);
  EACH(Reduce, out, in, 5, type, MPI_SUM, 0, comm);
  EACH(Gather, out, 2, type, in, 2, type, 1, comm);
  EACH(Gatherv, out, counts[rank], type, in, counts, places, type, 0, comm);
#if !defined(MPICH_NUMVERSION) || MPICH_NUMVERSION >= 40100000
  EACH(Scatter, out, 2, type, in, 2, type, 1, comm); /* MPICH 4.0.2 starts it only once */
#endif
  EACH(Scatterv, out, counts, places, type, in, counts[rank], type, 0, comm);
  EACH(Allgather, out, 3, type, in, 3, type, comm);
  EACH(Allgatherv, out, counts[rank], type, in, counts, places, type, comm);
  EACH(Alltoall, out, 2, type, in, 2, type, comm);
  EACH(Alltoallv, out, counts, places, type, in, mine, places, type, comm);
  EACH(Alltoallw, out, counts, bytes, types, in, mine, bytes, types, comm);
  EACH(Allreduce, out, in, 8, type, MPI_SUM, comm);
  EACH(Reduce_scatter, out, in, counts, type, MPI_SUM, comm);
  EACH(Reduce_scatter_block, out, in, 2, type, MPI_SUM, comm);
  EACH(Scan, out, in, 3, type, MPI_SUM, comm);
  EACH(Exscan, out, in, 3, type, MPI_SUM, comm);
  EACH(Neighbor_allgather, out, 2, type, in, 2, type, grid);
  EACH(Neighbor_allgatherv, out, 1, type, in, counts, places, type, grid);
  EACH(Neighbor_alltoall, out, 2, type, in, 2, type, grid);
  EACH(Neighbor_alltoallv, out, counts, places, type, in, counts, places, type, grid);
  EACH(Neighbor_alltoallw, out, counts, addresses, types, in, counts, addresses, types, grid);
}

static void partitions(void) {
#if MPI_VERSION >= 4
  MPI_Request request;
  int both[2] = {2, 3}, arrived = 0;
  char data[100];
  if (rank == 0) MPI_Psend_init(data, 4, 25, MPI_CHAR, 1, 0, comm, MPI_INFO_NULL, &request);
  if (rank == 1) MPI_Precv_init(data, 4, 25, MPI_CHAR, 0, 0, comm, MPI_INFO_NULL, &request);
  for (int i = 0; i < 5 && rank < 2; ++i) {
    MPI_Start(&request);
    if (rank == 0) MPI_Pready(0, request), MPI_Pready_range(1, 1, request), MPI_Pready_list(2, both, request);
    else MPI_Parrived(request, 0, &arrived);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (rank < 2) MPI_Request_free(&request);
#endif
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  persistent = !strcmp(words[1], "persistent");
  for (int i = 0; i < N; ++i)
    counts[i] = i < 2 ? 1 : 2, mine[i] = rank < 2 ? 1 : 2, places[i] = 2 * i, bytes[i] = 8 * i, addresses[i] = 8 * i, types[i] = type;
  const int periodic = 1;
  MPI_Cart_create(comm, 1, &ranks, &periodic, 0, &grid);
  if (!strcmp(words[1], "partitioned")) partitions();
  else collectives();
  MPI_Comm_free(&grid);
  MPI_Finalize();
}
