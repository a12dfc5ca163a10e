// A case: a benchmark with values of its axes (its own parameters) and of controls (parameters common to all).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiviat {

struct Case {
  std::string id, benchmark;
  std::map<std::string, std::string, std::less<>> words;  // axes and controls, as given by the user

  // Value of `key`, or `fallback` if it is not given. integer() and real() throw UsageError if it is not a number.
  std::string text(std::string_view key, std::string_view fallback) const;
  std::int64_t integer(std::string_view key, std::int64_t fallback) const;
  double real(std::string_view key, double fallback) const;
  // Message size in bytes; nothing if the given value is invalid.
  std::optional<std::int64_t> bytes() const;
};

// Returns whether `key` is a control; every other key of a case is an axis of its benchmark.
bool is_control(std::string_view key);

// Parses a line `ID BENCHMARK key=value...` of a cases file; returns nothing for blank lines and comments. Throws
// UsageError, naming the line, if it is malformed.
std::optional<Case> parse_case(const std::string& line, int line_number);

// Parse a whole or real number. Throw UsageError, which calls it `what`, if `text` is not one.
std::int64_t to_integer(std::string_view text, std::string_view what);
double to_real(std::string_view text, std::string_view what);

// Parses message sizes: `4194304`, `1,8,64` or `LOW:HIGH` (powers of two; 0 first if LOW is 0). Throws UsageError.
std::vector<std::int64_t> parse_sizes(std::string_view text);

}  // namespace kiviat
