// SimGrid loads the program once for each rank, so that each has variables of its own, and has every copy look for
// functions in its own libraries first: there it would find SimGrid's MPI and never ours, which is preloaded. Without
// that it looks where any program looks, first of all in what is preloaded; variables of the program stay those of its
// copy. Nothing that was loaded goes away: SimGrid calls what a platform gave it also when the process ends.
#include <dlfcn.h>

extern "C" __attribute__((visibility("default"))) void* dlopen(const char* name, int how) noexcept {
  static auto* const next = reinterpret_cast<decltype(&dlopen)>(dlsym(RTLD_NEXT, "dlopen"));
  return next(name, (how & ~RTLD_DEEPBIND) | RTLD_NODELETE);
}
