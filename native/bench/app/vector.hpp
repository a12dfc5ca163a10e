// A place in space, or a way through it.
#pragma once

#include <array>

namespace kiviat::app {

using Vector = std::array<double, 3>;

}  // namespace kiviat::app
