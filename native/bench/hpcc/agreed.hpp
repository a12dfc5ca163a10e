// Loads libraries at run time; a kernel uses a library only if all ranks have found the same one.
#pragma once

#include <string>

#include "measure/trial.hpp"
#include "support/failure.hpp"

namespace kiviat {

// Returns the result of `find`, whose words() names the library. If a rank finds none, or another one than rank 0, all
// ranks skip the case with the reason of the first such rank. Collective over the trial's ranks.
template <class Find>
auto agreed(const Trial& t, Find find) {
  decltype(find()) found{};
  std::string mine, wrong;
  try {
    found = find();
    mine = found.words();
  } catch (const Skip& why) {
    wrong = why.what();
  }
  char first[512] = {};
  mine.copy(first, sizeof first - 1);
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, t.comm());
  // A missing library is reported to all groups; differing libraries matter only if every rank has one.
  if (wrong.empty() && *first && mine.substr(0, sizeof first - 1) != first)
    wrong = "finds " + mine + ", but rank 0 finds " + first + "; set KIVIAT_BLAS to the same library on all ranks";
  const std::string reason =
      first_said(t.members().comm(), wrong.empty() ? "" : "rank " + std::to_string(t.rank()) + ": " + wrong);
  if (!reason.empty()) throw Skip(reason);
  return found;
}

}  // namespace kiviat
