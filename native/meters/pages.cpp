#include "meters/pages.hpp"

#include <sys/prctl.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "platform/node.hpp"
#include "support/failure.hpp"

namespace kiviat::pages {

Small::Small() {
  if (!host::carries_payload()) return;
  if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0)
    throw Skip(std::string("pages=small: this system cannot forbid huge pages (") + std::strerror(errno) +
               "); leave --pages out");
  forbidden_ = true;
}

Small::~Small() {
  if (forbidden_) prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
}

std::optional<Held> held() {
  if (!host::carries_payload()) return {};
  std::ifstream file("/proc/self/smaps_rollup");
  Held found;
  int lines = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double kibibytes = 0;
    if (!(words >> name >> kibibytes)) continue;
    if (name == "Anonymous:") found.anonymous_bytes = 1024 * kibibytes, ++lines;
    if (name == "AnonHugePages:") found.huge_bytes = 1024 * kibibytes, ++lines;
  }
  return lines == 2 ? std::optional(found) : std::nullopt;
}

}  // namespace kiviat::pages
