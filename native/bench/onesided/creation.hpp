// Creation of windows, which may fail: a library may not support one-sided operations on a network, or lack memory.
#pragma once

#include <mpi.h>

#include <string>

namespace kiviat {

// Runs create(), which creates a window on `comm` and returns MPI's error code. Returns MPI's error text if it failed
// on any rank, else an empty string. Collective over `comm`.
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
