// Independent measurements ("pieces") of a long study, such as patterns. On real machines they run one after another.
// In simulations each piece runs in a process of its own, KIVIAT_PROCESSES of them at a time, the last pieces first.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "platform/rank_group.hpp"

namespace kiviat {

class WorkShare {
 public:
  using Progress = std::function<void(double share)>;
  // Prepares room for `values` results of each of `count` pieces. Collective over `group`. Calls `progressed` on
  // rank 0 whenever another process has finished a piece. Throws std::runtime_error if memory or a process is
  // unavailable.
  WorkShare(const RankGroup& group, std::size_t count, std::size_t values, const Progress& progressed);
  ~WorkShare();
  WorkShare(const WorkShare&) = delete;
  WorkShare& operator=(const WorkShare&) = delete;

  // Returns whether this process measures the piece and must fill in its values, on all ranks.
  bool mine(std::size_t piece) const;
  std::span<double> values(std::size_t piece) const { return {results_ + piece * values_, values_}; }
  // Returns whether this process measures all pieces.
  bool leads() const;
  // Ends other processes; afterwards this one has the values of all pieces. Collective; throws std::runtime_error if a
  // process failed.
  void collect();

 private:
  struct Shares;
  const RankGroup& group_;
  std::size_t count_, values_;
  double* results_ = nullptr;
  std::vector<double> own_;
  Shares* shares_ = nullptr;
};

}  // namespace kiviat
