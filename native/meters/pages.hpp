// Size of the memory pages of this process: transparent huge pages, forbidden on request, and the share obtained.
#pragma once

#include <optional>

namespace kiviat::pages {

// Forbids transparent huge pages for memory that this process touches first while the object exists, whatever
// allocates it. Simulated ranks, which share a process, are not affected.
class Small {
 public:
  Small();  // throws Skip if the system cannot forbid them
  ~Small();
  Small(const Small&) = delete;
  Small& operator=(const Small&) = delete;

 private:
  bool forbidden_ = false;
};

struct Held {
  double anonymous_bytes = 0, huge_bytes = 0;  // resident private memory, and the part of it in huge pages
};
// Returns the memory that this process holds now (/proc/self/smaps_rollup); nothing if the system does not say, or in
// simulations.
std::optional<Held> held();

}  // namespace kiviat::pages
