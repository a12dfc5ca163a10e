// Agreement on whether Kiviat's library is preloaded in all ranks.
#pragma once

namespace kiviat::prof {

// Collective over those that it is preloaded in.
bool all_are_here();

}  // namespace kiviat::prof
