// Message buffers: page-aligned, from malloc or MPI_Alloc_mem, optionally rotating through more
// memory than the last-level cache holds, so that every message is cold (IMB's -off_cache).
#pragma once

#include <cstddef>
#include <span>

namespace kiviat {

class Buffer {
 public:
  enum class Source { malloc, alloc_mem };

  // `rotate_bytes` 0: always the same memory. More than `most_bytes`, or a refused allocation, leaves
  // the buffer empty: the trial notices on all ranks together.
  Buffer(std::size_t bytes, Source source, std::size_t rotate_bytes, std::size_t most_bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // Where the next message goes.
  std::byte* next() {
    std::byte* here = cursor_;
    if ((cursor_ += stride_) >= end_) cursor_ = begin_;
    return here;
  }
  // The memory that next() returns after rewind().
  std::span<std::byte> first() { return {begin_, bytes_}; }
  void rewind() { cursor_ = begin_; }

  bool allocated() const { return begin_ != nullptr; }
  std::size_t total_bytes() const { return total_; }
  // Touches every page, so that the kernel's zeroing is not timed.
  void touch();

 private:
  std::size_t bytes_, stride_ = 0, total_ = 0;
  Source source_;
  std::byte *begin_ = nullptr, *end_ = nullptr, *cursor_ = nullptr;
  void* allocation_ = nullptr;
};

}  // namespace kiviat
