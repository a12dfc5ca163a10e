// Reads the stream of a rank.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include "trace/format.hpp"

namespace kiviat::trace {

class Cursor {
 public:
  // Throws std::runtime_error where the file cannot be read.
  explicit Cursor(const std::string& path);
  ~Cursor();
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  Word number() {
    Word value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) break;
      const Word octet = *at_++;
      value |= (octet & 0x7f) << shift;
      if (octet < 0x80) return value;
    }
    throw std::runtime_error(path_ + ": no event ends at byte " + std::to_string(at_ - begin_));
  }
  std::int64_t signed_number() { return unfolded(number()); }
  int whole() { return static_cast<int>(number()); }
  std::ptrdiff_t place() const { return at_ - begin_; }

 private:
  std::string path_;
  const unsigned char *begin_ = nullptr, *at_ = nullptr, *end_ = nullptr;
};

}  // namespace kiviat::trace
