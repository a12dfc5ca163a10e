// Compact encoding of a rank's counters, and the file of all ranks (format in merge.hpp).
#pragma once

#include <string>
#include <vector>

#include "prof/state.hpp"

namespace kiviat::prof {

using Bytes = std::vector<unsigned char>;

// Encodes the counters of one rank. Texts equal on all ranks are included only if `tells`, which one rank sets.
Bytes packed(const State& state, bool tells);
// Layout of the words as one line of JSON, with a line feed.
std::string description();
// Writes FOLDER/world-HOST-PID.profile from the concatenated packed() bytes of all ranks, in rank order. `header` is
// that of any rank; `more` is appended to the JSON object of the second line, such as `,"name":value`. Returns false if
// the file cannot be written.
bool write_world(const std::string& folder, const Header& header, const Bytes& bytes, const std::string& more = "");

}  // namespace kiviat::prof
