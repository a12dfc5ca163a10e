// Windows that may not come about: a library may have no way for one-sided operations on a network, or no memory.
#pragma once

#include <mpi.h>

#include <string>

namespace kiviat {

// Runs create(), which makes a window of `comm` and returns MPI's code. What MPI said if it failed on any rank; nothing
// otherwise. Collective over `comm`.
template <class Create>
std::string trouble_in(MPI_Comm comm, Create create) {
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int code = create();
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  int failed = code == MPI_SUCCESS ? 0 : code, any;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, comm);
  if (any == 0) return {};
  char text[MPI_MAX_ERROR_STRING] = {};
  int length;
  MPI_Error_string(any, text, &length);
  return text;
}

}  // namespace kiviat
