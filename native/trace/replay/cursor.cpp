#include "trace/replay/cursor.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kiviat::trace {

Cursor::Cursor(const std::string& path, int rank) : rank_(rank) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about{};
  if (file < 0 || fstat(file, &about) != 0 || about.st_size == 0)
    throw std::runtime_error("cannot read " + path + ": " + (file < 0 ? std::strerror(errno) : "the file is empty"));
  const auto bytes = static_cast<std::size_t>(about.st_size);
  void* const memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (memory == MAP_FAILED) throw std::runtime_error("cannot map " + path + " into memory: " + std::strerror(errno));
  begin_ = at_ = static_cast<const unsigned char*>(memory);
  end_ = begin_ + bytes;
}

Cursor::~Cursor() { munmap(const_cast<unsigned char*>(begin_), static_cast<std::size_t>(end_ - begin_)); }

}  // namespace kiviat::trace
