// The library of Fourier transforms, for kernels that all ranks have to compute.
#pragma once

#include <string>

#include "kernels/fftw.hpp"
#include "measure/trial.hpp"
#include "platform/node.hpp"
#include "support/failure.hpp"

namespace kiviat {

// Null where nothing is computed. Skips on all ranks alike where one finds none. Collective.
inline const Fftw* agreed_fftw(const Trial& t) {
  if (!host::carries_payload()) return nullptr;
  std::string why;
  const Fftw* found = Fftw::find(why);
  if (t.worst(found ? 0 : 1) > 0) throw Skip(found ? "another rank finds no FFTW" : why);
  return found;
}

}  // namespace kiviat
