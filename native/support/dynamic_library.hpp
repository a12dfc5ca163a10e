// Libraries that are found where the program runs, not where it was built.
#pragma once

#include <dlfcn.h>

#include <string>

namespace kiviat {

// The function of that name in `library` (of dlopen), null if it has none.
template <class Function>
Function* look_up(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

// The file that holds `address`; empty if unknown.
inline std::string path_of(const void* address) {
  Dl_info found{};
  return dladdr(address, &found) != 0 && found.dli_fname ? found.dli_fname : "";
}

}  // namespace kiviat
