// The file of a rank while it grows: mapped, so that what was recorded outlives the process, however that ends, and one
// window at a time, so that it takes little memory however long it gets.
#pragma once

#include <string>

#include "trace/format.hpp"

namespace kiviat::trace {

class Stream {
 public:
  // Null header() where there is no room.
  bool open(const std::string& path, const std::string& description);
  Header* header() const { return header_; }

  void number(Word value) {
    for (; value >= 0x80; value >>= 7) octet(static_cast<unsigned char>(value | 0x80));
    octet(static_cast<unsigned char>(value));
  }
  void signed_number(std::int64_t value) { number(folded(value)); }
  // A number that is written later: where it stands. Until then it is `now`.
  Word later(Word now);
  void patch(Word at, Word value);
  // What was written until here is whole.
  void commit() { header_->length = position(); }
  bool full() const { return full_; }

 private:
  static constexpr int patched_octets = 5;  // enough for 32 bits, folded
  void octet(unsigned char value) {
    if (next_ == end_ && !grow()) return;
    *next_++ = value;
  }
  Word position() const { return static_cast<Word>(next_ - window_) + window_at_ - stream_at; }
  bool grow();

  Header* header_ = nullptr;
  unsigned char *window_ = nullptr, *next_ = nullptr, *end_ = nullptr;
  Word window_at_ = stream_at;
  int file_ = -1;
  bool full_ = false;
};

}  // namespace kiviat::trace
