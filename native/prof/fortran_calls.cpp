// Wrappers of the Fortran calls, generated from calls.hpp: mpif.h and `use mpi` (mpi_send_), mpi_f08 (mpi_send_f08_),
// and mpi_f08 with array descriptors (mpi_send_f08ts_). Each forwards to the MPI's function of the same name, because
// MPICH's mpi_f08 has no profiling interface. If that function calls C's, the nested call is not counted.
#include "prof/expand.hpp"
#include "prof/parameters.hpp"

#define KIVIAT_EXPORT extern "C" __attribute__((visibility("default")))

namespace kiviat::prof {

#define KIVIAT_TYPE(kind, name) f_##kind
#define KIVIAT_PARAMETER(kind, name) f_##kind name
#define KIVIAT_NAME(kind, name) name
#define KIVIAT_ANY(kind, name) [[maybe_unused]] auto name
#define KIVIAT_VALUE(kind, name) value.kind(name)
#define KIVIAT_FORM(symbol, described, Name, ...)                                          \
  KIVIAT_EXPORT void symbol(KIVIAT_EACH(KIVIAT_PARAMETER, __VA_ARGS__), MPI_Fint* error) { \
    static auto* const next = reinterpret_cast<decltype(&symbol)>(real(#symbol));          \
    forward_##Name(next, {described}, KIVIAT_EACH(KIVIAT_NAME, __VA_ARGS__), error);       \
  }
#define KIVIAT_CALL(Name, name, before, after, ...)                                                               \
  static void forward_##Name(void (*next)(KIVIAT_EACH(KIVIAT_TYPE, __VA_ARGS__), MPI_Fint*), const Fortran value, \
                             KIVIAT_EACH(KIVIAT_PARAMETER, __VA_ARGS__), MPI_Fint* error) {                       \
    if (!counts()) return next(KIVIAT_EACH(KIVIAT_NAME, __VA_ARGS__), error);                                     \
    Event e(Call::Name);                                                                                          \
    [&](KIVIAT_EACH(KIVIAT_ANY, __VA_ARGS__)) {                                                                   \
      KIVIAT_BEFORE(before, __VA_ARGS__);                                                                         \
    }(KIVIAT_EACH(KIVIAT_VALUE, __VA_ARGS__));                                                                    \
    MPI_Fint own_error = MPI_SUCCESS; /* in mpi_f08, the last argument may be left out */                         \
    const MPI_Fint& outcome = error ? *error : own_error;                                                         \
    next(KIVIAT_EACH(KIVIAT_PASSED, __VA_ARGS__), error ? error : &own_error);                                    \
    e.over();                                                                                                     \
    [&](KIVIAT_EACH(KIVIAT_ANY, __VA_ARGS__)) {                                                                   \
      KIVIAT_ENDED(outcome, after, __VA_ARGS__)                                                                   \
    }(KIVIAT_EACH(KIVIAT_VALUE, __VA_ARGS__));                                                                    \
  }                                                                                                               \
  KIVIAT_FORM(mpi_##name##_, false, Name, __VA_ARGS__)                                                            \
  KIVIAT_FORM(mpi_##name##_f08_, false, Name, __VA_ARGS__)                                                        \
  KIVIAT_FORM(mpi_##name##_f08ts_, true, Name, __VA_ARGS__)
// Calls with strings are not wrapped: Fortran passes string lengths as hidden arguments behind all others.
#define KIVIAT_NAMED(...)
#define KIVIAT_MPI4_NAMED(...)
#define KIVIAT_SIZED KIVIAT_CALL
#ifdef KIVIAT_HAS_MPI4
#define KIVIAT_MPI4 KIVIAT_CALL
#else
#define KIVIAT_MPI4(...)
#endif
#define KIVIAT_MPI4_SIZED KIVIAT_MPI4
#define KIVIAT_PERSISTENT KIVIAT_MPI4
#define KIVIAT_PERSISTENT_PLAIN KIVIAT_MPI4
#include "prof/calls.hpp"
#undef KIVIAT_CALL
#undef KIVIAT_SIZED
#undef KIVIAT_NAMED
#undef KIVIAT_MPI4
#undef KIVIAT_MPI4_SIZED
#undef KIVIAT_MPI4_NAMED
#undef KIVIAT_PERSISTENT
#undef KIVIAT_PERSISTENT_PLAIN

// In Open MPI, `use mpi` has functions of their own for windows whose address is a TYPE(C_PTR).
KIVIAT_FORM(mpi_win_allocate_cptr_, false, Win_allocate, (extent, size), (unit, disp_unit), (info, info), (comm, comm),
            (out, base), (new_win, win))
KIVIAT_FORM(mpi_win_allocate_shared_cptr_, false, Win_allocate_shared, (extent, size), (unit, disp_unit), (info, info),
            (comm, comm), (out, base), (new_win, win))

#define KIVIAT_LIFE(name, parameters, arguments, before, after)               \
  KIVIAT_EXPORT void name parameters {                                        \
    static auto* const next = reinterpret_cast<decltype(&name)>(real(#name)); \
    ++nested();                                                               \
    before;                                                                   \
    next arguments;                                                           \
    after;                                                                    \
    --nested();                                                               \
  }

KIVIAT_LIFE(mpi_init_, (MPI_Fint * error), (error), , begin())
KIVIAT_LIFE(mpi_init_f08_, (MPI_Fint * error), (error), , begin())
KIVIAT_LIFE(mpi_init_thread_, (f_number required, MPI_Fint* provided, MPI_Fint* error), (required, provided, error), ,
            begin())
KIVIAT_LIFE(mpi_init_thread_f08_, (f_number required, MPI_Fint* provided, MPI_Fint* error), (required, provided, error),
            , begin())
KIVIAT_LIFE(mpi_finalize_, (MPI_Fint * error), (error), end(), )
KIVIAT_LIFE(mpi_finalize_f08_, (MPI_Fint * error), (error), end(), )
KIVIAT_LIFE(mpi_pcontrol_, (f_number level), (level), control(*level), )
KIVIAT_LIFE(mpi_pcontrol_f08_, (f_number level), (level), control(*level), )

}  // namespace kiviat::prof
