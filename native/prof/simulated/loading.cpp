// Overrides dlopen() for SimGrid, which loads one copy of the program per rank with RTLD_DEEPBIND, so that each copy
// would find SimGrid's MPI before the preloaded wrappers. Without that flag symbols are looked up in the usual order,
// preloaded libraries first; each copy still has its own variables. RTLD_NODELETE keeps libraries mapped, since SimGrid
// calls functions of the platform library while the process exits.
#include <dlfcn.h>

extern "C" __attribute__((visibility("default"))) void* dlopen(const char* name, int how) noexcept {
  static auto* const next = reinterpret_cast<decltype(&dlopen)>(dlsym(RTLD_NEXT, "dlopen"));
  return next(name, (how & ~RTLD_DEEPBIND) | RTLD_NODELETE);
}
