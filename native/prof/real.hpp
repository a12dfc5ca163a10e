// The MPI behind us. Nothing of it is linked: the library is preloaded into every process of a launch, and most of
// these, launchers and shells, have no MPI.
#pragma once

#include <mpi.h>

#include <type_traits>

namespace kiviat::prof {

// A function of the MPI that the program has loaded, also where only a module of it has (Python); null if nobody has
// it.
void* find(const char* symbol);
// Likewise of a variable: programs that are not position-independent have its copy, and that is the one that counts.
void* find_variable(const char* symbol);
// A function; ends the process with a message where there is none: somebody has called it.
void* real(const char* symbol);

// Likewise of the profiling interface, but the recorder's call where that is preloaded behind us.
void* behind(const char* symbol);

}  // namespace kiviat::prof

#ifdef KIVIAT_SIMULATED
namespace kiviat::prof {

// What the program has instead of a function of the simulator's, or that one.
void* instead_of(void* simulators);

// Some of the simulator's prototypes have lost a const.
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
// What the program's own call goes on to.
#define KIVIAT_BEHIND(name)                                           \
  ([]() -> decltype(&PMPI_##name) {                                   \
    static void* const found = ::kiviat::prof::behind("PMPI_" #name); \
    return reinterpret_cast<decltype(&PMPI_##name)>(found);           \
  }())
// A function of the profiling interface.
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
inline MPI_Errhandler errors_return() {
  static void* const found = find_variable("ompi_mpi_errors_return");
  return static_cast<MPI_Errhandler>(found);
}
#else
inline MPI_Comm world() { return MPI_COMM_WORLD; }
inline MPI_Comm self() { return MPI_COMM_SELF; }
inline MPI_Comm no_comm() { return MPI_COMM_NULL; }
inline MPI_Datatype byte() { return MPI_BYTE; }
inline MPI_Errhandler errors_return() { return MPI_ERRORS_RETURN; }
#endif

}  // namespace kiviat::prof

// A handle of Fortran's in C: numbers stay what they are, where handles are numbers.
#if defined(OPEN_MPI) && OPEN_MPI
#define KIVIAT_FROM_FORTRAN(Kind, value) KIVIAT_PMPI(Kind##_f2c)(value)
#else
#define KIVIAT_FROM_FORTRAN(Kind, value) MPI_##Kind##_f2c(value)
#endif
