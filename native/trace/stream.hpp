// Writer of a rank's trace file. The file is memory-mapped, so recorded events survive a crash of the process. Only one
// window of it is mapped at a time, which bounds the memory used.
#pragma once

#include <string>

#include "trace/format.hpp"

namespace kiviat::trace {

class Stream {
 public:
  // Creates the file; returns false, and removes the file, if it exists already or does not fit on the disk.
  bool open(const std::string& path, const std::string& description);
  Header* header() const { return header_; }

  void number(Word value) {
    for (; value >= 0x80; value >>= 7) octet(static_cast<unsigned char>(value | 0x80));
    octet(static_cast<unsigned char>(value));
  }
  void signed_number(std::int64_t value) { number(folded(value)); }
  // Writes `now` as a placeholder of fixed length and returns its position, for patch().
  Word later(Word now);
  void patch(Word at, Word value);
  // Makes all events written so far part of the stream: readers ignore bytes behind `length`.
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
