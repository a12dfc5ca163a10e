// Memory for tables and matrices, in huge pages where the system has them: a table of gigabytes that is accessed at
// random, or along columns, would otherwise wait for address translation as often as for memory.
#pragma once

#include <cstddef>
#include <memory>

namespace kiviat {

class HugePages {
 public:
  static constexpr std::size_t huge = std::size_t{2} << 20;  // begins at a multiple of it if it is as large

  HugePages() = default;
  // Null where there is not as much. Nothing is touched: a page is there, and zero, once it is written or read, on the
  // memory of whom does so first. Where no payload is moved, all of them are one place that need not be touched, from
  // which messages cost nothing (host::allocate).
  explicit HugePages(std::size_t bytes);

  explicit operator bool() const { return begin_ != nullptr; }
  template <class T>
  T* as() const {
    return static_cast<T*>(begin_.get());
  }

 private:
  struct Release {
    void* mapping;  // in which it lies; null if it is the host's
    std::size_t mapped_bytes;
    void operator()(void* begin) const;
  };
  std::unique_ptr<void, Release> begin_;
};

}  // namespace kiviat
