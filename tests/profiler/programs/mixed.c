/* A C program that shares its messages with Fortran subroutines, those of mixed.F90.
 *
 *     mixed handles    Fortran makes requests and matches a message; C completes them
 *     mixed anybody    C, then Fortran, receives from any source and ignores the status; the second sender is late */
#include <mpi.h>
#include <string.h>
#include <time.h>

void begin_in_fortran_(const int* other, MPI_Fint* requests);
void match_in_fortran_(MPI_Fint* message);
void receive_in_fortran_(void);

int main(int count, char** words) {
  int rank, ranks, value = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!strcmp(words[1], "handles")) {
    const int other = 1 - rank;
    MPI_Fint begun[2], matched;
    begin_in_fortran_(&other, begun);
    for (int n = 0; n < 2; ++n) {
      MPI_Request request = MPI_Request_f2c(begun[n]);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    if (rank == 0) {
      match_in_fortran_(&matched);
      MPI_Message message = MPI_Message_f2c(matched);
      MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    }
  } else {
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2) {
      const struct timespec time = {0, 50 * 1000 * 1000};
      nanosleep(&time, NULL);
      MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    if (rank == 0) receive_in_fortran_();
  }
  MPI_Finalize();
  return 0;
}
