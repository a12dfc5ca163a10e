// Access to the program's MPI library by symbol lookup. This library cannot link an MPI: it is preloaded into every
// process of a launch, also into launchers and shells, which have no MPI.
#pragma once

#include <mpi.h>

#include <type_traits>

namespace kiviat::prof {

// Returns the address of a function of the loaded MPI, even if only a plug-in (such as a Python module) has loaded it;
// null if there is none.
void* find(const char* symbol);
// Returns the address of a variable of the MPI. Programs that are not position-independent use a copy in the
// executable; for others it is the variable in the library.
void* find_variable(const char* symbol);
// As find(), but prints a message and aborts if the function is missing, because the program's call could not be
// forwarded.
void* real(const char* symbol);

// Address of the next function to forward a PMPI_… symbol to: the recorder's wrapper if it is preloaded after this
// library, else the MPI's.
void* behind(const char* symbol);

}  // namespace kiviat::prof

#ifdef KIVIAT_SIMULATED
namespace kiviat::prof {

// Returns the program's replacement of a simulator function, see kiviat_profiler_replace(); without one, the function
// itself.
void* instead_of(void* simulators);

// Removes const from parameters for which SMPI's prototypes lack it.
template <class To, class From>
To loosely(From given) {
  if constexpr (std::is_same_v<To, void*> && std::is_same_v<From, const void*>)
    return const_cast<void*>(given);
  else
    return given;
}
template <class... Parameters>
auto called(int (*function)(Parameters...)) {
  return [function](auto... given) { return function(loosely<Parameters>(given)...); };
}

}  // namespace kiviat::prof

#define KIVIAT_PMPI(name) PMPI_##name
#define KIVIAT_BEHIND(name) \
  ::kiviat::prof::called(   \
      reinterpret_cast<decltype(&PMPI_##name)>(::kiviat::prof::instead_of(reinterpret_cast<void*>(&PMPI_##name))))
#else
// The function to which the wrapper forwards the program's call.
#define KIVIAT_BEHIND(name)                                           \
  ([]() -> decltype(&PMPI_##name) {                                   \
    static void* const found = ::kiviat::prof::behind("PMPI_" #name); \
    return reinterpret_cast<decltype(&PMPI_##name)>(found);           \
  }())
#define KIVIAT_BEHIND_EXTENSION(name)                                  \
  ([]() -> decltype(&PMPIX_##name) {                                   \
    static void* const found = ::kiviat::prof::behind("PMPIX_" #name); \
    return reinterpret_cast<decltype(&PMPIX_##name)>(found);           \
  }())
// The MPI's own function, for calls of the profiler itself.
#define KIVIAT_PMPI(name)                                           \
  ([]() -> decltype(&PMPI_##name) {                                 \
    static void* const found = ::kiviat::prof::real("PMPI_" #name); \
    return reinterpret_cast<decltype(&PMPI_##name)>(found);         \
  }())
#endif

namespace kiviat::prof {

// Open MPI's predefined handles are addresses of variables.
#if defined(OPEN_MPI) && OPEN_MPI
inline MPI_Comm world() {
  static void* const found = find_variable("ompi_mpi_comm_world");
  return static_cast<MPI_Comm>(found);
}
inline MPI_Comm self() {
  static void* const found = find_variable("ompi_mpi_comm_self");
  return static_cast<MPI_Comm>(found);
}
inline MPI_Comm no_comm() {
  static void* const found = find_variable("ompi_mpi_comm_null");
  return static_cast<MPI_Comm>(found);
}
inline MPI_Datatype byte() {
  static void* const found = find_variable("ompi_mpi_byte");
  return static_cast<MPI_Datatype>(found);
}
inline MPI_Op no_op() {
  static void* const found = find_variable("ompi_mpi_op_no_op");
  return static_cast<MPI_Op>(found);
}
inline MPI_Errhandler errors_return() {
  static void* const found = find_variable("ompi_mpi_errors_return");
  return static_cast<MPI_Errhandler>(found);
}
#else
inline MPI_Comm world() { return MPI_COMM_WORLD; }
inline MPI_Comm self() { return MPI_COMM_SELF; }
inline MPI_Comm no_comm() { return MPI_COMM_NULL; }
inline MPI_Datatype byte() { return MPI_BYTE; }
inline MPI_Op no_op() { return MPI_NO_OP; }
inline MPI_Errhandler errors_return() { return MPI_ERRORS_RETURN; }
#endif

}  // namespace kiviat::prof

// Converts a Fortran handle to C. In MPICH both are the same integers; the standard ABI has no Fortran in C.
#if defined(MPI_ABI)
using MPI_Fint = int;
#define KIVIAT_FROM_FORTRAN(Kind, value) KIVIAT_PMPI(Kind##_fromint)(value)
#elif defined(OPEN_MPI) && OPEN_MPI
#define KIVIAT_FROM_FORTRAN(Kind, value) KIVIAT_PMPI(Kind##_f2c)(value)
#else
#define KIVIAT_FROM_FORTRAN(Kind, value) MPI_##Kind##_f2c(value)
#endif
