// Independent pieces of a long study, such as patterns. On a machine that is there they follow each other; on a
// modelled one they are shared out among the cores of the machine that simulates.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/assembly.hpp"

namespace kiviat {

class Pieces {
 public:
  // `values` results of each of `count` pieces. Collective over those that `assembly` joins.
  Pieces(const Assembly& assembly, std::size_t count, std::size_t values);
  ~Pieces();
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  // Whether this process does it; then it fills in the values, on all ranks alike.
  bool mine(std::size_t piece) const;
  std::span<double> values(std::size_t piece) const { return {results_ + piece * values_, values_}; }
  // Whether this process is the one that goes on in the end, and speaks meanwhile.
  bool leads() const;
  // Afterwards all values are there. Collective; throws if a process was lost.
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
