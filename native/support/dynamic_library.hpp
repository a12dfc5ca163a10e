// Access to libraries loaded at run time with dlopen().
#pragma once

#include <dlfcn.h>

#include <string>

namespace kiviat {

// Returns the function or variable `name` of `library`, null if it has none.
template <class Function>
Function* look_up(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

// Returns the path of the library that contains `address`; empty if unknown.
inline std::string path_of(const void* address) {
  Dl_info found{};
  return dladdr(address, &found) != 0 && found.dli_fname ? found.dli_fname : "";
}

}  // namespace kiviat
