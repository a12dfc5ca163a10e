// Hardware counters of kernels by rank.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "meters/energy.hpp"
#include "platform/counter_source.hpp"
#include "results/result.hpp"

namespace kiviat::counters {

// Counts of one kernel on one rank, over the repetitions in which the rank was not idle.
struct Counted {
  std::array<double, counter_names.size()> sums{};
  std::array<int, counter_names.size()> times{};
  double least_share = 1;
  Traffic traffic = {};  // memory traffic of this rank's node in all repetitions, if this rank reads it
  bool has_traffic = false;

  void add(const Counts& counts);
  // Returns the mean per repetition; NaN if it was not counted.
  double mean(std::size_t name) const;
};

// Counts of all ranks, gathered on rank 0; entry [rank * kernels + kernel].
struct Gathered {
  std::vector<Counted> counted;
  std::vector<int> readers;        // the ranks that count memory traffic for their node
  std::vector<std::string> nodes;  // names of the readers' nodes
};

// Adds the tables `counters`, `counters_by_rank` and `memory_traffic`, and the note `counters`.
void tell(Result& result, const std::vector<energy::Kernel>& kernels, const Gathered& gathered, std::string words);

}  // namespace kiviat::counters
