// The classes of problems of the NAS Parallel Benchmarks, from the sample size S to C.
// D. Bailey et al., The NAS Parallel Benchmarks 2.0, NAS-95-020, 1995, table 1.
#pragma once

#include <array>
#include <string>

#include "measure/trial.hpp"

namespace kiviat::npb {

// One value for each class: S, W, A, B, C.
template <class T>
using PerClass = std::array<T, 5>;

inline Axis class_axis() { return {"class", "A", "", "problem class", {"S", "W", "A", "B", "C"}}; }

template <class T>
const T& of_class(const Trial& t, const PerClass<T>& each) {
  constexpr std::string_view names = "SWABC";
  return each[names.find(t.text("class"))];
}

}  // namespace kiviat::npb
