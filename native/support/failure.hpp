// Why a case did not run, or cannot: raised on all ranks alike, so that nobody is left waiting.
#pragma once

#include <stdexcept>
#include <string>

namespace kiviat {

// The case cannot run here (too few ranks, too little memory); the run goes on.
struct Skip : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The user's request is invalid. The message says what is wrong, the value seen, and what to do.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace kiviat
