#include "benchmark/case.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "support/failure.hpp"

namespace kiviat {
namespace {

template <class T>
T to_number(std::string_view text, std::string_view what, const char* kind) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size())
    throw UsageError(std::string(what) + " is '" + std::string(text) + "': give " + kind);
  return number;
}

}  // namespace

std::int64_t to_integer(std::string_view text, std::string_view what) {
  return to_number<std::int64_t>(text, what, "a whole number");
}

double to_real(std::string_view text, std::string_view what) { return to_number<double>(text, what, "a number"); }

std::string Case::text(std::string_view key, std::string_view fallback) const {
  const auto found = words.find(key);
  return found == words.end() ? std::string(fallback) : found->second;
}

std::int64_t Case::integer(std::string_view key, std::int64_t fallback) const {
  const auto found = words.find(key);
  return found == words.end() ? fallback : to_integer(found->second, key);
}

double Case::real(std::string_view key, double fallback) const {
  const auto found = words.find(key);
  return found == words.end() ? fallback : to_real(found->second, key);
}

std::optional<std::int64_t> Case::bytes() const {
  try {
    const std::int64_t given = integer("bytes", 0);
    return given < 0 ? std::nullopt : std::optional(given);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

bool is_control(std::string_view key) {
  constexpr std::string_view controls[] = {"ranks",    "bytes",       "mode",        "sync",       "target",
                                           "budget_s", "min_samples", "max_samples", "iterations", "warmup",
                                           "seed",     "watts",       "pages"};
  return std::ranges::find(controls, key) != std::end(controls);
}

std::optional<Case> parse_case(const std::string& line, int line_number) {
  std::istringstream words(line);
  Case parsed;
  if (!(words >> parsed.id) || parsed.id[0] == '#') return std::nullopt;
  const std::string where = "cases file, line " + std::to_string(line_number) + ": ";
  if (!(words >> parsed.benchmark)) throw UsageError(where + "a benchmark must follow the case '" + parsed.id + "'");
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw UsageError(where + "'" + word + "' is not of the form key=value");
    parsed.words[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return parsed;
}

std::vector<std::int64_t> parse_sizes(std::string_view text) {
  std::vector<std::int64_t> sizes;
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    const auto low = to_integer(text.substr(0, colon), "size"), high = to_integer(text.substr(colon + 1), "size");
    if (low < 0 || high < low)
      throw UsageError("sizes '" + std::string(text) + "': give LOW:HIGH with 0 <= LOW <= HIGH");
    if (low == 0) sizes.push_back(0);
    for (int power = 0; power < 63; ++power)
      if (const std::int64_t size = std::int64_t{1} << power; size >= low && size <= high) sizes.push_back(size);
    if (sizes.empty())
      throw UsageError("sizes '" + std::string(text) +
                       "': the range contains no power of two; widen it, or give a list such as 3,5");
    return sizes;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto comma = std::min(text.find(',', begin), text.size());
    sizes.push_back(to_integer(text.substr(begin, comma - begin), "size"));
    if (sizes.back() < 0)
      throw UsageError("message size " + std::to_string(sizes.back()) + " is negative; give 0 or more bytes");
    begin = comma + 1;
  }
  return sizes;
}

}  // namespace kiviat
