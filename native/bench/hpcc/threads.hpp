// Threads of each rank that run loops of ours.
#pragma once

#include <string>

#include "measure/trial.hpp"
#include "support/failure.hpp"

namespace kiviat {

inline constexpr Bounds threads_of_rank{1, 4096};

// Returns the axis "threads". Throws Skip for more than one if the compiler had no OpenMP.
inline int openmp_threads(const Trial& t) {
  const auto threads = t.count_of("threads");
#ifndef _OPENMP
  if (threads > 1) throw Skip("threads=" + std::to_string(threads) + ": kiviat-bench was compiled without OpenMP");
#endif
  return threads;
}

}  // namespace kiviat
