// Rendering of JSON. Missing values and NaN become null.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace kiviat::json {

inline std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

inline std::string value(std::string_view text) { return json::quoted(text); }
inline std::string value(const std::string& text) { return json::quoted(text); }
inline std::string value(const char* text) { return json::quoted(text); }
inline std::string value(bool flag) { return flag ? "true" : "false"; }
inline std::string value(std::nullptr_t) { return "null"; }
template <std::integral T>
  requires(!std::same_as<T, bool>)
std::string value(T number) {
  return std::to_string(number);
}
// Writes integers below 2^53 (counts) with all digits, other numbers (measurements) with 7 significant digits.
inline std::string value(double number) {
  if (!std::isfinite(number)) return "null";
  constexpr double most_counted = 1LL << 53;
  const bool counted = std::abs(number) < most_counted && number == std::trunc(number);
  char text[32];
  std::snprintf(text, sizeof text, counted ? "%.0f" : "%.7g", number);
  return text;
}
template <class T>
std::string value(const std::optional<T>& maybe) {
  return maybe ? value(*maybe) : "null";
}

// A JSON array of the elements of `range`, each rendered by `render`.
template <class Range, class Render>
std::string array(const Range& range, Render render) {
  std::string out = "[";
  for (const auto& element : range) {
    if (out.size() > 1) out += ',';
    out += render(element);
  }
  return out + ']';
}

class Object {
 public:
  template <class T>
  Object& field(std::string_view name, const T& v) {
    return raw(name, value(v));
  }
  // Adds a field whose value, `rendered`, is JSON already.
  Object& raw(std::string_view name, std::string_view rendered) {
    if (!body_.empty()) body_ += ',';
    body_ += json::quoted(name);
    body_ += ':';
    body_ += rendered;
    return *this;
  }
  std::string text() const { return '{' + body_ + '}'; }

 private:
  std::string body_;
};

}  // namespace kiviat::json
