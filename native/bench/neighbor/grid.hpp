// A periodic grid of all ranks, whose neighbourhood collectives exchange blocks with both neighbours along each
// dimension.
#pragma once

#include <string>
#include <vector>

#include "measure/trial.hpp"
#include "platform/vendor.hpp"
#include "support/failure.hpp"

namespace kiviat {

inline std::vector<Axis> grid_axes() {
  return {
      {"dimensions", "2", "", "dimensions of the periodic grid, as even as MPI_Dims_create makes it", {"1", "2", "3"}}};
}

class NeighbourGrid {
 public:
  // `call` is the collective. Throws Skip if the MPI does not implement it. Collective.
  NeighbourGrid(const Trial& t, const char* call) : dimensions_(t.count_of("dimensions")) {
    // SMPI's functions do nothing, successfully.
    if (vendor().name == "SMPI") throw Skip(std::string("this MPI has no ") + call + ": SMPI does not implement it");
    std::vector<int> extents(static_cast<std::size_t>(dimensions_), 0);
    const std::vector<int> periodic(extents.size(), 1);
    MPI_Dims_create(t.ranks(), dimensions_, extents.data());
    MPI_Cart_create(t.comm(), dimensions_, extents.data(), periodic.data(), 0, &comm_);
    for (int dimension = 0; dimension < dimensions_; ++dimension) {
      int below, above;
      MPI_Cart_shift(comm_, dimension, 1, &below, &above);
      ranks_.push_back(below), ranks_.push_back(above);
      words_ += (dimension == 0 ? "" : " x ") + std::to_string(extents[static_cast<std::size_t>(dimension)]);
    }
  }
  ~NeighbourGrid() { MPI_Comm_free(&comm_); }
  NeighbourGrid(const NeighbourGrid&) = delete;
  NeighbourGrid& operator=(const NeighbourGrid&) = delete;

  MPI_Comm comm() const { return comm_; }
  // The neighbours below and above along the first dimension, then along the next one, and so on: the order of blocks
  // in the buffers. Where a dimension has one or two ranks, both are the same.
  const std::vector<int>& ranks() const { return ranks_; }
  std::string words() const { return words_; }  // such as "4 x 2"

 private:
  int dimensions_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<int> ranks_;
  std::string words_;
};

}  // namespace kiviat
