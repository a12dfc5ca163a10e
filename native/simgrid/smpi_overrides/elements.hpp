// Temporary buffer for elements of a datatype.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <memory>

namespace kiviat::sim {

// Room for `count` elements; data() accounts for the type's lower bound.
class Elements {
 public:
  Elements(int count, MPI_Datatype type) {
    MPI_Aint extent, true_extent;
    PMPI_Type_get_extent(type, &lower_, &extent);
    PMPI_Type_get_true_extent(type, &lower_, &true_extent);
    room_ =
        std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(count * std::max(extent, true_extent)));
  }
  void* data() { return room_.get() - lower_; }

 private:
  MPI_Aint lower_;
  std::unique_ptr<std::byte[]> room_;
};

inline long bytes_of(int count, MPI_Datatype type) {
  int size;
  PMPI_Type_size(type, &size);
  return static_cast<long>(count) * size;
}

// Returns the address of element number `at` of a buffer.
inline void* element(void* buffer, long at, MPI_Datatype type) {
  MPI_Aint lower, extent;
  PMPI_Type_get_extent(type, &lower, &extent);
  return static_cast<char*>(buffer) + at * extent;
}
inline const void* element(const void* buffer, long at, MPI_Datatype type) {
  return element(const_cast<void*>(buffer), at, type);
}

}  // namespace kiviat::sim
