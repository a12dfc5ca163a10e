// One case: a benchmark with the values of its axes and of the controls common to all.
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
  std::map<std::string, std::string, std::less<>> words;  // axes and controls as given

  // The word `key`, or `fallback`. Throws UsageError if it is not of that type.
  std::string text(std::string_view key, std::string_view fallback) const;
  std::int64_t integer(std::string_view key, std::int64_t fallback) const;
  double real(std::string_view key, double fallback) const;
  // The message size, where it makes sense as one.
  std::optional<std::int64_t> bytes() const;
};

// Returns whether `key` is a control, common to all benchmarks; every other word of a case is one of its
// axes.
bool is_control(std::string_view key);

// Reads `ID BENCHMARK key=value...`; nothing for blank lines and comments.
std::optional<Case> parse_case(const std::string& line, int line_number);

std::int64_t to_integer(std::string_view text, std::string_view what);
double to_real(std::string_view text, std::string_view what);

// Sizes from `4194304`, `1,8,64` or `LOW:HIGH` (powers of two; 0 first where LOW is 0).
std::vector<std::int64_t> parse_sizes(std::string_view text);

}  // namespace kiviat
