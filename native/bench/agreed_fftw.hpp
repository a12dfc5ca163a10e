// FFTW for kernels in which all ranks compute.
#pragma once

#include <string>

#include "kernels/fftw.hpp"
#include "measure/trial.hpp"
#include "platform/node.hpp"
#include "support/failure.hpp"

namespace kiviat {

// Returns the library, null in simulations without payload. Throws Skip on all ranks if any rank finds none.
// Collective.
inline const Fftw* agreed_fftw(const Trial& t) {
  if (!host::carries_payload()) return nullptr;
  std::string why;
  const Fftw* found = Fftw::find(why);
  if (t.worst(found ? 0 : 1) > 0) throw Skip(found ? "another rank finds no FFTW" : why);
  return found;
}

}  // namespace kiviat
