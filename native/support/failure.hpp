// Exceptions that end a case. They must be thrown on all ranks, because otherwise the remaining ranks would wait for
// ever.
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
