// Wrappers of the C calls, generated from calls.hpp.
#include "prof/expand.hpp"
#include "prof/parameters.hpp"

#define KIVIAT_EXPORT extern "C" __attribute__((visibility("default")))

namespace kiviat::prof {

#define KIVIAT_PARAMETER(kind, name) c_##kind name
#define KIVIAT_NAME(kind, name) name
#define KIVIAT_WRAP_AS(symbol, behind, Name, before, after, ...)         \
  KIVIAT_EXPORT int symbol(KIVIAT_EACH(KIVIAT_PARAMETER, __VA_ARGS__)) { \
    if (!counts()) return behind(KIVIAT_EACH(KIVIAT_NAME, __VA_ARGS__)); \
    Event e(Call::Name);                                                 \
    KIVIAT_BEFORE(before, __VA_ARGS__);                                  \
    const int outcome = behind(KIVIAT_EACH(KIVIAT_PASSED, __VA_ARGS__)); \
    e.over();                                                            \
    KIVIAT_ENDED(outcome, after, __VA_ARGS__)                            \
    return outcome;                                                      \
  }
#define KIVIAT_WRAP(Symbol, Name, ...) KIVIAT_WRAP_AS(MPI_##Symbol, KIVIAT_BEHIND(Symbol), Name, __VA_ARGS__)

namespace plain {
#define KIVIAT_CALL(Name, name, before, after, ...) KIVIAT_WRAP(Name, Name, before, after, __VA_ARGS__)
#define KIVIAT_SIZED KIVIAT_CALL
#define KIVIAT_NAMED KIVIAT_CALL
#if defined(KIVIAT_HAS_MPI4)
#define KIVIAT_MPI4 KIVIAT_CALL
#define KIVIAT_PERSISTENT KIVIAT_CALL
#else
#define KIVIAT_MPI4(...)
#ifdef KIVIAT_HAS_MPIX
#define KIVIAT_PERSISTENT(Name, name, before, after, ...) \
  KIVIAT_WRAP_AS(MPIX_##Name, KIVIAT_BEHIND_EXTENSION(Name), Name, before, after, __VA_ARGS__)
#else
#define KIVIAT_PERSISTENT(...)
#endif
#endif
#define KIVIAT_MPI4_NAMED KIVIAT_MPI4
#define KIVIAT_MPI4_SIZED KIVIAT_MPI4
#define KIVIAT_PERSISTENT_PLAIN KIVIAT_PERSISTENT
#include "prof/calls.hpp"
#undef KIVIAT_CALL
#undef KIVIAT_SIZED
#undef KIVIAT_NAMED
#undef KIVIAT_MPI4
#undef KIVIAT_MPI4_SIZED
#undef KIVIAT_MPI4_NAMED
#undef KIVIAT_PERSISTENT
#undef KIVIAT_PERSISTENT_PLAIN
}  // namespace plain

#if MPI_VERSION >= 4 && !defined(KIVIAT_SIMULATED)
namespace large {
#define KIVIAT_CALL(...)
#define KIVIAT_NAMED(...)
#define KIVIAT_MPI4(...)
#define KIVIAT_MPI4_NAMED(...)
#define KIVIAT_SIZED(Name, name, before, after, ...) KIVIAT_WRAP(Name##_c, Name, before, after, __VA_ARGS__)
#define KIVIAT_MPI4_SIZED KIVIAT_SIZED
#define KIVIAT_PERSISTENT KIVIAT_SIZED
#define KIVIAT_PERSISTENT_PLAIN(...)
#include "prof/calls.hpp"
#undef KIVIAT_CALL
#undef KIVIAT_SIZED
#undef KIVIAT_NAMED
#undef KIVIAT_MPI4
#undef KIVIAT_MPI4_SIZED
#undef KIVIAT_MPI4_NAMED
#undef KIVIAT_PERSISTENT
#undef KIVIAT_PERSISTENT_PLAIN
}  // namespace large
#endif

KIVIAT_EXPORT int MPI_Init(int* argc, char*** argv) {
  ++nested();
  const int result = KIVIAT_BEHIND(Init)(argc, argv);
  if (result == MPI_SUCCESS) begin();
  --nested();
  return result;
}

KIVIAT_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  ++nested();
  const int result = KIVIAT_BEHIND(Init_thread)(argc, argv, required, provided);
  if (result == MPI_SUCCESS) begin();
  --nested();
  return result;
}

#if defined(KIVIAT_HAS_MPI4)
KIVIAT_EXPORT int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  note_session();
  return KIVIAT_BEHIND(Session_init)(info, errhandler, session);
}
#endif

KIVIAT_EXPORT int MPI_Finalize() {
  ++nested();
  end();
  const int result = KIVIAT_BEHIND(Finalize)();
  --nested();
  return result;
}

KIVIAT_EXPORT int MPI_Pcontrol(const int level, ...) {
  control(level);
#ifdef KIVIAT_SIMULATED
  return MPI_SUCCESS;  // SMPI's MPI_Pcontrol warns that it is not implemented
#else
  return KIVIAT_BEHIND(Pcontrol)(level);
#endif
}

}  // namespace kiviat::prof
