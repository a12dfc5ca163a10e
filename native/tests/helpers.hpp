// Helper functions of several tests.
#pragma once

#include <mpi.h>

#include <string>

#include "support/failure.hpp"

namespace kiviat::test {

// Returns the message of the Error that `call` throws, or a text saying that nothing was thrown.
template <class Error, class Call>
std::string thrown(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "(nothing was thrown)";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Returns whether every rank has the same text as rank 0.
inline bool same_everywhere(std::string text, MPI_Comm comm) {
  std::string first = text;
  first.resize(512);
  text.resize(512);
  MPI_Bcast(first.data(), 512, MPI_CHAR, 0, comm);
  int same = first == text, all = 0;
  MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, comm);
  return all;
}

inline double maximum(double mine, MPI_Comm comm) {
  double most = 0;
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, comm);
  return most;
}

}  // namespace kiviat::test
