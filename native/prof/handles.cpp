#include "prof/handles.hpp"

#include <algorithm>

namespace kiviat::prof {

bool is_in_place(const void* buffer) { return buffer == MPI_IN_PLACE; }

#ifndef KIVIAT_SIMULATED
bool is_in_place(FortranBuffer buffer) {
  // Fortran's MPI_IN_PLACE is a common block in Open MPI; in MPICH it is a pointer to a common block, and another
  // variable in mpi_f08.
  static const void* const block = find_variable("mpi_fortran_in_place_");
  static const void* const* const pointer = static_cast<const void* const*>(find_variable("MPIR_F_MPI_IN_PLACE"));
  static const void* const described = find_variable("MPIR_F08_MPI_IN_PLACE");
  const void* const at = buffer.described ? *static_cast<const void* const*>(buffer.at) : buffer.at;
  return at && (at == block || at == described || (pointer && at == *pointer));
}

bool is_ignored(const void* status) {
  if (!status || status == MPI_STATUS_IGNORE || status == MPI_STATUSES_IGNORE) return true;
  // In MPICH, the variables are set by this function, which the first Fortran call calls if a C program initialised
  // MPI.
  static auto* const initialise = reinterpret_cast<void (*)()>(find("mpirinitf_"));
  static const auto variable = [](const char* name) { return static_cast<void* const*>(find_variable(name)); };
  static void* const* const variables[] = {variable("MPI_F_STATUS_IGNORE"), variable("MPI_F_STATUSES_IGNORE"),
                                           variable("MPI_F08_STATUS_IGNORE"), variable("MPI_F08_STATUSES_IGNORE")};
  if (initialise && variables[0] && !*variables[0]) initialise();
  return std::ranges::any_of(variables, [=](void* const* at) { return at && *at == status; });
}
#endif

}  // namespace kiviat::prof
