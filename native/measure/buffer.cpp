#include "measure/buffer.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdint>

#include "platform/node.hpp"

namespace kiviat {
namespace {

constexpr std::size_t page = 4096;

std::size_t up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Returns null if there is not enough memory, which MPI reports on MPI_COMM_WORLD (MPI 3) or MPI_COMM_SELF (MPI 4): by
// default, that ends the launch.
void* allocated_by_mpi(std::size_t bytes) {
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  void* memory = nullptr;
  const int code = MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &memory);
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  return code == MPI_SUCCESS ? memory : nullptr;
}

}  // namespace

Buffer::Buffer(std::size_t bytes, Source source, std::size_t rotate_bytes, std::size_t most_bytes)
    : bytes_(bytes), source_(source) {
  const std::size_t slot = up(std::max<std::size_t>(bytes, 1), rotate_bytes ? 64 : page);
  const std::size_t slots = rotate_bytes ? std::max<std::size_t>(2, rotate_bytes / slot + 1) : 1;
  total_ = up(slot * slots, page);
  if (total_ > most_bytes) return;
  allocation_ = source == Source::malloc ? host::allocate(total_ + page) : allocated_by_mpi(total_ + page);
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
