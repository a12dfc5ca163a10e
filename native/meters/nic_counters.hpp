// Bytes that leave nodes by the network interface that KIVIAT_INTERFACE names, in each kernel of a study.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "platform/rank_group.hpp"
#include "results/result.hpp"

namespace kiviat {

// Bytes of frames with their headers, as Linux counts them, from every sender. They are those of messages if
// all messages that leave a node use this interface and no other traffic does. This holds on emulated
// clusters, whose launches name the interface; on other machines the user must name it. The lowest rank of
// each node reads.
class InterfaceLog {
 public:
  explicit InterfaceLog(const Assembly& assembly);  // collective

  bool reads() const { return reads_; }  // somebody does; on all ranks alike
  // Around a kernel, numbered in the order in which they are first run, on all ranks alike: once all are ready, before
  // any begins, and once all have ended.
  void before(std::size_t kernel);
  void after();
  // Adds a table of kernels and nodes, and their sum as a metric, to the result of rank 0, or a note that says why
  // there is none; `repetitions` of each kernel. Collective.
  void finish(Result& result, const std::vector<std::string>& kernels, const std::vector<double>& repetitions) const;

 private:
  const Assembly& assembly_;
  int rank_ = 0, ranks_ = 1;
  std::string path_;                   // of the counter
  bool reads_ = false, mine_ = false;  // this rank reads
  // On rank 0: the ranks that read, and what their nodes are called.
  std::vector<int> readers_;
  std::vector<std::string> nodes_;
  std::size_t at_ = 0;        // the kernel that runs
  double begun_ = 0;          // counted when it began; NaN where it cannot be read
  std::vector<double> sent_;  // in each kernel
};

}  // namespace kiviat
