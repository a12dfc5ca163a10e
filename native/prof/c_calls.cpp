// Wrappers of the C calls, generated from calls.hpp.
#include "prof/expand.hpp"
#include "prof/parameters.hpp"

#define KIVIAT_EXPORT extern "C" __attribute__((visibility("default")))

namespace kiviat::prof {

#define KIVIAT_PARAMETER(kind, name) c_##kind name
#define KIVIAT_NAME(kind, name) name
#define KIVIAT_WRAP(Symbol, Name, before, after, ...)                                   \
  KIVIAT_EXPORT int MPI_##Symbol(KIVIAT_EACH(KIVIAT_PARAMETER, __VA_ARGS__)) {          \
    if (!counts()) return KIVIAT_BEHIND(Symbol)(KIVIAT_EACH(KIVIAT_NAME, __VA_ARGS__)); \
    Event e(Call::Name);                                                                \
    KIVIAT_BEFORE(before, __VA_ARGS__);                                                 \
    const int outcome = KIVIAT_BEHIND(Symbol)(KIVIAT_EACH(KIVIAT_PASSED, __VA_ARGS__)); \
    e.over();                                                                           \
    KIVIAT_AFTER(after, __VA_ARGS__);                                                   \
    return outcome;                                                                     \
  }

namespace plain {
#define KIVIAT_CALL(Name, name, before, after, ...) KIVIAT_WRAP(Name, Name, before, after, __VA_ARGS__)
#define KIVIAT_SIZED KIVIAT_CALL
#define KIVIAT_NAMED KIVIAT_CALL
#include "prof/calls.hpp"
#undef KIVIAT_CALL
#undef KIVIAT_SIZED
#undef KIVIAT_NAMED
}  // namespace plain

#if MPI_VERSION >= 4 && !defined(KIVIAT_SIMULATED)
namespace large {
#define KIVIAT_CALL(...)
#define KIVIAT_NAMED(...)
#define KIVIAT_SIZED(Name, name, before, after, ...) KIVIAT_WRAP(Name##_c, Name, before, after, __VA_ARGS__)
#include "prof/calls.hpp"
#undef KIVIAT_CALL
#undef KIVIAT_SIZED
#undef KIVIAT_NAMED
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
