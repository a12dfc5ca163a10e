#include "measure/buffer.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdint>

#include "platform/node.hpp"

namespace kiviat {
namespace {

constexpr std::size_t page = 4096;

std::size_t up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

Buffer::Buffer(std::size_t bytes, Source source, std::size_t rotate_bytes, std::size_t most_bytes)
    : bytes_(bytes), source_(source) {
  const std::size_t slot = up(std::max<std::size_t>(bytes, 1), rotate_bytes ? 64 : page);
  const std::size_t slots = rotate_bytes ? std::max<std::size_t>(2, rotate_bytes / slot + 1) : 1;
  total_ = up(slot * slots, page);
  if (total_ > most_bytes) return;
  if (source == Source::malloc) {
    allocation_ = host::allocate(total_ + page);
  } else if (MPI_Alloc_mem(static_cast<MPI_Aint>(total_ + page), MPI_INFO_NULL, &allocation_) != MPI_SUCCESS) {
    allocation_ = nullptr;
  }
  if (!allocation_) return;
  begin_ = reinterpret_cast<std::byte*>(up(reinterpret_cast<std::uintptr_t>(allocation_), page));
  stride_ = slots > 1 ? slot : 0;
  end_ = begin_ + slot * slots;
  cursor_ = begin_;
}

Buffer::~Buffer() {
  if (!allocation_) return;
  source_ == Source::malloc ? host::release(allocation_) : static_cast<void>(MPI_Free_mem(allocation_));
}

void Buffer::touch() {
  for (std::size_t at = 0; at < total_; at += page) begin_[at] = std::byte{0};
}

}  // namespace kiviat
