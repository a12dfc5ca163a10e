#include "kernels/huge_pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

#include "platform/node.hpp"

namespace kiviat {

HugePages::HugePages(std::size_t bytes) : bytes_(bytes) {
  if (!host::carries_payload()) {
    begin_ = {host::allocate(std::max<std::size_t>(bytes, 1)), Release{}};
    return;
  }
  const std::size_t alignment = bytes >= huge ? huge : 1, mapped = std::max<std::size_t>(bytes, 1) + alignment - 1;
  void* memory =
      mapped < bytes ? MAP_FAILED : mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(memory) + alignment - 1) / alignment * alignment;
  begin_ = {reinterpret_cast<void*>(begin), Release{memory, mapped}};
#ifdef MADV_HUGEPAGE
  madvise(begin_.get(), bytes, MADV_HUGEPAGE);  // failure is harmless: access is only slower without huge pages
#endif
}

void HugePages::touch() const {
  if (!begin_ || !begin_.get_deleter().mapping) return;
#ifdef MADV_POPULATE_WRITE
  if (madvise(begin_.get(), bytes_, MADV_POPULATE_WRITE) == 0) return;  // Linux 5.14
#endif
  constexpr std::size_t smallest_page = 4096;
  volatile char* const memory = as<char>();
  for (std::size_t at = 0; at < bytes_; at += smallest_page) memory[at] = 0;
}

void HugePages::Release::operator()(void* begin) const {
  if (mapping)
    munmap(mapping, mapped_bytes);
  else
    host::release(begin);
}

}  // namespace kiviat
