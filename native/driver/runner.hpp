// Runs one case on the participating ranks, while the others sleep.
#pragma once

#include "benchmark/case.hpp"
#include "measure/session.hpp"
#include "results/result.hpp"

namespace kiviat {

// Collective over the session's world; samples are complete on rank 0 only. A case that cannot run here has outcome
// "skipped", an invalid one "failed", both with a reason.
Result run_case(const Case& spec, Session& session);

}  // namespace kiviat
