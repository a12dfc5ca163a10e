#include "trace/stream.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include "prof/grow_file.hpp"

namespace kiviat::trace {
namespace {

// Multiples of the page size, even if pages have 64 KiB.
constexpr std::size_t first_bytes = std::size_t{64} << 10, window_bytes = std::size_t{1} << 20;

void* mapped(int file, Word at, std::size_t bytes) {
  // Allocates the blocks first, because writing to a hole of a mapped file on a full disk raises SIGBUS.
  if (prof::grow_file(file, static_cast<off_t>(at), static_cast<off_t>(bytes)) != 0) return MAP_FAILED;
  return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(at));
}

}  // namespace

bool Stream::open(const std::string& path, const std::string& description) {
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file_ < 0) return false;
  void* const memory = mapped(file_, 0, stream_at);
  const auto length = static_cast<ssize_t>(description.size() + 1);
  if (memory == MAP_FAILED || description.size() + 1 > stream_at - description_at ||
      pwrite(file_, description.c_str(), description.size() + 1, description_at) != length) {
    close(file_);
    unlink(path.c_str());
    return false;
  }
  header_ = static_cast<Header*>(memory);
  return true;
}

bool Stream::grow() {
  if (full_) return false;
  const auto used = static_cast<std::size_t>(end_ - window_);
  const Word at = window_at_ + used;
  const std::size_t bytes = used == 0 ? first_bytes : window_bytes;
  void* const memory = mapped(file_, at, bytes);
  if (memory == MAP_FAILED) {
    full_ = true;
    header_->lost = 1;
    return false;
  }
  if (window_) munmap(window_, used);
  window_ = next_ = static_cast<unsigned char*>(memory);
  end_ = window_ + bytes;
  window_at_ = at;
  return true;
}

Word Stream::later(Word now) {
  const Word at = position();
  for (int digit = 1; digit < patched_octets; ++digit, now >>= 7) octet(static_cast<unsigned char>(now | 0x80));
  octet(static_cast<unsigned char>(now & 0x7f));
  return at;
}

void Stream::patch(Word at, Word value) {
  unsigned char octets[patched_octets];
  for (int digit = 0; digit < patched_octets; ++digit, value >>= 7)
    octets[digit] = static_cast<unsigned char>((value & 0x7f) | (digit + 1 < patched_octets ? 0x80 : 0));
  // The placeholder may lie before the mapped window, or cross the window's start.
  for (int digit = 0; digit < patched_octets; ++digit) {
    const Word place = at + stream_at + static_cast<Word>(digit);
    if (place >= window_at_ + static_cast<Word>(next_ - window_)) break;  // left out, because the disk was full
    if (place >= window_at_) {
      window_[place - window_at_] = octets[digit];
    } else if (pwrite(file_, octets + digit, 1, static_cast<off_t>(place)) != 1) {
      header_->lost = 1;
    }
  }
}

}  // namespace kiviat::trace
