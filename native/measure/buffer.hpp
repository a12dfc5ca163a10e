// Message buffers: page-aligned, from malloc or MPI_Alloc_mem. A buffer can rotate through more memory than the
// last-level cache holds, so that no message is in the cache (IMB's -off_cache).
#pragma once

#include <cstddef>
#include <span>

namespace kiviat {

class Buffer {
 public:
  enum class Source { malloc, alloc_mem };

  // A buffer for messages of `bytes` bytes that rotates through `rotate_bytes` (0: always the same memory). If it needs
  // more than `most_bytes`, or allocation fails, allocated() is false, and the trial skips the case on all ranks.
  Buffer(std::size_t bytes, Source source, std::size_t rotate_bytes, std::size_t most_bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // Memory of the next message; advances the rotation.
  std::byte* next() {
    std::byte* here = cursor_;
    if ((cursor_ += stride_) >= end_) cursor_ = begin_;
    return here;
  }
  // Returns the memory that next() returns after rewind().
  std::span<std::byte> first() { return {begin_, bytes_}; }
  void rewind() { cursor_ = begin_; }

  bool allocated() const { return begin_ != nullptr; }
  std::size_t total_bytes() const { return total_; }
  // Touches every page, so that the time the kernel takes to zero pages is not measured.
  void touch();

 private:
  std::size_t bytes_, stride_ = 0, total_ = 0;
  Source source_;
  std::byte *begin_ = nullptr, *end_ = nullptr, *cursor_ = nullptr;
  void* allocation_ = nullptr;
};

}  // namespace kiviat
