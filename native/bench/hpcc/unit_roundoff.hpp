// The eps of residuals. LAPACK, HPL and HPC Challenge mean the largest relative error of rounding, which is half of the
// distance from 1 to the next number.
#pragma once

#include <limits>

namespace kiviat {

inline constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;

}  // namespace kiviat
