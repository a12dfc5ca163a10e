/* A communicator from a session, on which rank 0 sends to rank 1.
 *
 *     session alone     without MPI_Init
 *     session beside    with it
 *     session outside   with it, and with an empty group, for which MPI makes no communicator */
#include <mpi.h>
#include <string.h>

int main(int count, char** words) {
  const int outside = count > 1 && strcmp(words[1], "outside") == 0;
  const int beside = outside || (count > 1 && strcmp(words[1], "beside") == 0);
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int rank, value = 1, sum;
  if (beside) MPI_Init(&count, &words);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "kiviat", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, comm);
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
  if (outside) {
    MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "kiviat", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    if (comm != MPI_COMM_NULL) return 2;
  }
  MPI_Session_finalize(&session);
  if (beside) MPI_Finalize();
  return sum == 2 ? 0 : 1;
}
