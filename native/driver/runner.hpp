// Runs one case on the ranks that take part, while the others sleep.
#pragma once

#include "benchmark/case.hpp"
#include "measure/session.hpp"
#include "results/result.hpp"

namespace kiviat {

struct Outcome {
  Result result;
  int ranks = 0;  // that took part
  bool sized = true;
  std::string benchmark;  // its name, also where an alias was given
};

// Collective over the session's world; the samples are on rank 0. A case that cannot run gives
// outcome "skipped", one that makes no sense "failed", with the reason.
Outcome run_case(const Case& spec, Session& session);

}  // namespace kiviat
