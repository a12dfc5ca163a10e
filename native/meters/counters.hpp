// Hardware counters of kernels, rank by rank.
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
  Traffic traffic = {};  // of its node, in all repetitions, where this rank reads it
  bool has_traffic = false;

  void add(const Counts& counts);
  // Mean per repetition; NaN if it was not counted.
  double mean(std::size_t name) const;
};

// What rank 0 has of all ranks: for each rank its kernels, one after the other.
struct Gathered {
  std::vector<Counted> counted;
  std::vector<int> readers;        // the ranks that read for a node, and
  std::vector<std::string> nodes;  // the names of those
};

// Adds the tables `counters`, `counters_by_rank` and `memory_traffic`, and the note `counters`.
void tell(Result& result, const std::vector<energy::Kernel>& kernels, const Gathered& gathered, std::string words);

}  // namespace kiviat::counters
