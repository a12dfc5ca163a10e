// Memory for large tables and matrices, in huge pages if available and not forbidden (meters/pages.hpp): random or
// column-wise access to gigabytes would otherwise cause as many TLB misses as cache misses.
#pragma once

#include <cstddef>
#include <memory>

namespace kiviat {

class HugePages {
 public:
  static constexpr std::size_t huge = std::size_t{2}
                                      << 20;  // page size; blocks of at least this size are aligned to it

  HugePages() = default;
  // Reserves `bytes`; converts to false if that fails. Pages are not touched: the first access places them in the
  // memory of the accessing thread's NUMA domain, zero-filled. In simulations without payload all blocks share the
  // memory of host::allocate, from which the simulator does not copy messages.
  explicit HugePages(std::size_t bytes);

  explicit operator bool() const { return begin_ != nullptr; }
  // Accesses all pages from this thread, so that no page fault falls into a measurement.
  void touch() const;
  template <class T>
  T* as() const {
    return static_cast<T*>(begin_.get());
  }

 private:
  struct Release {
    void* mapping;  // start of the mapping that contains the block; null if allocated by host::allocate
    std::size_t mapped_bytes;
    void operator()(void* begin) const;
  };
  std::unique_ptr<void, Release> begin_;
  std::size_t bytes_ = 0;
};

}  // namespace kiviat
