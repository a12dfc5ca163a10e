// Bytes sent by nodes through the network interface KIVIAT_INTERFACE, by kernel of a study.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "platform/rank_group.hpp"
#include "results/result.hpp"

namespace kiviat {

// Linux counts the bytes of all frames, including headers, of all programs. They equal the traffic of the ranks if all
// messages between nodes use this interface and nothing else does. That is so on emulated clusters, where launches set
// the variable; elsewhere the user must set it. The lowest rank of each node reads the counter.
class InterfaceLog {
 public:
  explicit InterfaceLog(const RankGroup& group);  // collective

  bool reads() const { return reads_; }  // whether any rank reads a counter; equal on all ranks
  // To be called before and after each repetition of a kernel, on all ranks, with barriers in between. Kernels are
  // numbered in the order of their first run.
  void before(std::size_t kernel);
  void after();
  // Adds to the result of rank 0 the table `interface_bytes` by kernel and node, per repetition, and their sum as a
  // metric; or a note with the reason why they are unavailable. Collective.
  void finish(Result& result, const std::vector<std::string>& kernels, const std::vector<double>& repetitions) const;

 private:
  const RankGroup& group_;
  int rank_ = 0, ranks_ = 1;
  std::string path_;                   // file of the counter
  bool reads_ = false, mine_ = false;  // whether any rank reads; whether this rank does
  // On rank 0: the reading ranks and the names of their nodes.
  std::vector<int> readers_;
  std::vector<std::string> nodes_;
  std::size_t at_ = 0;        // index of the current kernel
  double begun_ = 0;          // counter at the kernel's start; NaN if unreadable
  std::vector<double> sent_;  // bytes by number of the kernel
};

}  // namespace kiviat
