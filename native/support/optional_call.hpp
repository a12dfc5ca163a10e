// MPI calls that only some libraries have. They are looked up in the library that is loaded, not in the header, so that
// one program runs with all libraries of an ABI, and a call that is missing skips a case instead of ending the program.
#pragma once

#include <dlfcn.h>

#include <string>

#include "support/dynamic_library.hpp"
#include "support/failure.hpp"

namespace kiviat {

// Returns MPI_NAME, or MPIX_NAME (of a standard to come), of the loaded MPI. Throws Skip if it has neither; `since` is
// the standard that introduced it.
template <class Function>
Function* optional_call(const std::string& name, const char* since) {
  for (const char* prefix : {"MPI_", "MPIX_"})
    if (auto* found = look_up<Function>(RTLD_DEFAULT, (prefix + name).c_str())) return found;
  throw Skip("this MPI has no MPI_" + name + " (of MPI " + since + ")");
}

}  // namespace kiviat
