// Independent pieces of a long study, such as patterns. On a machine that is there they follow each other; on a
// modelled one each has a simulation of its own, as many at a time as the machine that simulates has cores.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "platform/rank_group.hpp"

namespace kiviat {

class Pieces {
 public:
  using Progress = std::function<void(double share)>;
  // `values` results of each of `count` pieces. Collective over those that `assembly` joins. `progressed` is told, on
  // the first of them, of what is done elsewhere meanwhile.
  Pieces(const Assembly& assembly, std::size_t count, std::size_t values, const Progress& progressed);
  ~Pieces();
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  // Returns whether this process computes the piece; it then fills in the values on all ranks.
  bool mine(std::size_t piece) const;
  std::span<double> values(std::size_t piece) const { return {results_ + piece * values_, values_}; }
  // Returns whether this process computes all pieces.
  bool leads() const;
  // Afterwards all values are there, in the process that goes on. Collective; throws if another was lost.
  void collect();

 private:
  struct Shares;
  const Assembly& assembly_;
  std::size_t count_, values_;
  double* results_ = nullptr;
  std::vector<double> own_;
  Shares* shares_ = nullptr;
};

}  // namespace kiviat
