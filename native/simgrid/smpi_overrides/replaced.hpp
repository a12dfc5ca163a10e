// Replacement of the simulator's MPI functions. If the profiler is preloaded, its wrapper comes first and forwards to
// the replacement.
#pragma once

#include <dlfcn.h>

namespace kiviat::sim {

template <class Function>
Function* first_of(const char* name, Function* simulators, Function* ours) {
  using Replace = void(void* simulators, void* by);
  auto* const replace = reinterpret_cast<Replace*>(dlsym(RTLD_DEFAULT, "kiviat_profiler_replace"));
  if (!replace) return ours;
  replace(reinterpret_cast<void*>(simulators), reinterpret_cast<void*>(ours));
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace kiviat::sim
