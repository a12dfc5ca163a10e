// Reader of a rank's stream. The file is not trusted: every number is checked before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "trace/format.hpp"

namespace kiviat::trace {

class Cursor {
 public:
  // Maps the file. Throws std::runtime_error if it is missing, unreadable or empty.
  Cursor(const std::string& path, int rank);
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
    refuse("the event is incomplete; the file is damaged or truncated");
  }
  std::int64_t signed_number() { return unfolded(number()); }
  // Reads a number in 0 … most; `what` names it in the error message.
  Word number(Word most, const char* what) {
    const Word value = number();
    if (value > most)
      refuse(std::string(what) + " is " + std::to_string(value) + ", but at most " + std::to_string(most) +
             " is allowed");
    return value;
  }
  int whole(int most, const char* what) { return static_cast<int>(number(static_cast<Word>(most), what)); }
  int signed_whole(const char* what) {
    const std::int64_t value = signed_number();
    if (value < INT32_MIN || value > INT32_MAX)
      refuse(std::string(what) + " is " + std::to_string(value) + ", outside the range of int");
    return static_cast<int>(value);
  }
  // Throws std::runtime_error with rank, position and reason.
  [[noreturn]] void refuse(const std::string& why) const {
    throw std::runtime_error("trace of rank " + std::to_string(rank_) + ", before byte " +
                             std::to_string(at_ - begin_) + ": " + why);
  }

 private:
  int rank_;
  const unsigned char *begin_ = nullptr, *at_ = nullptr, *end_ = nullptr;
};

}  // namespace kiviat::trace
