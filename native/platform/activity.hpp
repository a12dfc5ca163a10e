// Readings of a rank and its machine that show whether other programs used the processors.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace kiviat::host {

// Totals since the start of a rank (or, for busy_s and steal_s, of the machine). NaN where the kernel does not report
// them.
struct Reading {
  std::uint64_t kernel = 0;        // equal on ranks of one kernel; emulated nodes share one
  double at_s = 0;                 // time of the reading
  double cpu_s = 0;                // processor time of this rank's threads
  double wait_s = 0;               // time for which its main thread was ready to run but had no processor
  double switches = 0;             // involuntary context switches
  double processors = 0;           // processors that ranks of this kernel may use; 0 on all but its first rank,
  double busy_s = 0, steal_s = 0;  // and their time: used by any process, interrupts excluded; taken by a hypervisor
  double helpers_s = 0;            // processor time of launchers of this kernel's ranks, and of kiviat
};

// Reads /proc. In a simulation there is nothing to read.
class ActivityReader {
 public:
  // Collective: agrees on the first rank of each kernel, and on the processors that its ranks may use.
  explicit ActivityReader(MPI_Comm world);
  // Returns whether processor time can be read; not in simulations, where it has no meaning.
  static bool available();
  Reading read() const;

 private:
  std::uint64_t kernel_ = 0;
  std::vector<int> processors_;  // of the kernel; empty except on its first rank
  std::vector<int> helpers_;     // their process numbers; empty except on the first rank
};

}  // namespace kiviat::host
