// Scope of a kernel in HPC Challenge: one rank (single), every rank separately at the same time (star, embarrassingly
// parallel), or all ranks on one problem (global, MPI).
#pragma once

#include <string>

#include "measure/trial.hpp"

namespace kiviat {

enum class Scope { single, star, global };

inline Axis scope_axis(bool has_global) {
  Axis axis{"scope",
            has_global ? "global" : "star",
            "",
            "single: one rank alone; star: all ranks at once, each with its own problem",
            {"single", "star"}};
  if (has_global) axis.help += "; global: all ranks together on one problem", axis.accepted.words.push_back("global");
  return axis;
}

inline Scope scope_of(const Trial& t) {
  const std::string scope = t.text("scope");
  return scope == "single" ? Scope::single : scope == "star" ? Scope::star : Scope::global;
}

// Returns whether this rank computes: in scope single only rank 0 does, the others sleep.
inline bool computes(const Trial& t, Scope scope) { return scope != Scope::single || t.rank() == 0; }

}  // namespace kiviat
