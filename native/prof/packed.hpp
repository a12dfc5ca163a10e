// Compact storage of counts: those of one rank, and the file of all (merge.hpp describes it).
#pragma once

#include <string>
#include <vector>

#include "prof/state.hpp"

namespace kiviat::prof {

using Bytes = std::vector<unsigned char>;

// Texts that are equal on all ranks `tells` one of them.
Bytes packed(const State& state, bool tells);
// Description of the words, in JSON, with a line feed at the end.
std::string description();
// FOLDER/world-HOST-PID.profile of what `packed` gave of each rank, in their order; `header` is anybody's. `more` is
// what else its second line says, `,"name":value`. False where it cannot be written.
bool write_world(const std::string& folder, const Header& header, const Bytes& bytes, const std::string& more = "");

}  // namespace kiviat::prof
