// Point or displacement in space.
#pragma once

#include <array>

namespace kiviat::app {

using Vector = std::array<double, 3>;

}  // namespace kiviat::app
