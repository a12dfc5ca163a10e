#include "prof/handles.hpp"

#include <algorithm>
#include <iterator>

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
  static const auto ignored = [](const char* name) {
    const auto* const at = static_cast<void* const*>(find_variable(name));
    return at ? *at : nullptr;
  };
  static const void* const ones[] = {MPI_STATUS_IGNORE,
                                     MPI_STATUSES_IGNORE,
                                     ignored("MPI_F_STATUS_IGNORE"),
                                     ignored("MPI_F_STATUSES_IGNORE"),
                                     ignored("MPI_F08_STATUS_IGNORE"),
                                     ignored("MPI_F08_STATUSES_IGNORE")};
  // `ones` contains null for every Fortran variable that the MPI lacks; a null argument is never a status.
  return !status || std::ranges::find(ones, status) != std::end(ones);
}
#endif

}  // namespace kiviat::prof
