// Runs one case on the participating ranks, while the others sleep.
#pragma once

#include "benchmark/case.hpp"
#include "measure/session.hpp"
#include "results/result.hpp"

namespace kiviat {

struct Outcome {
  Result result;
  int ranks = 0;          // participating ranks
  bool sized = true;      // the benchmark has a message size
  std::string benchmark;  // its name, even if the case uses an alias
};

// Collective over the session's world; samples are complete on rank 0 only. A case that cannot run here has outcome
// "skipped", an invalid one "failed", both with a reason.
Outcome run_case(const Case& spec, Session& session);

}  // namespace kiviat
