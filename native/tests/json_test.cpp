#include "support/json.hpp"

#include <limits>
#include <vector>

#include "ranked_test.hpp"

using namespace kiviat;

RANKED_TEST(json_text_is_quoted, 1) {
  EXPECT(json::quoted("plain") == R"("plain")");
  EXPECT(json::quoted(R"(a"b\c)") == R"("a\"b\\c")");
  EXPECT(json::quoted("line\nend\ttab") == R"("line\u000aend\u0009tab")");
  EXPECT(json::quoted(std::string_view("nul\0byte", 8)) == R"("nul\u0000byte")");
  EXPECT(json::quoted("µs → Grüße") == "\"µs → Grüße\"");  // UTF-8 stays
}

RANKED_TEST(json_values_that_could_not_be_had_are_null, 1) {
  EXPECT(json::value(std::numeric_limits<double>::quiet_NaN()) == "null");
  EXPECT(json::value(std::numeric_limits<double>::infinity()) == "null");
  EXPECT(json::value(std::optional<double>()) == "null");
  EXPECT(json::value(nullptr) == "null");
  EXPECT(json::value(std::optional<long>(3)) == "3");
  EXPECT(json::value(2.5e-7) == "2.5e-07");
  EXPECT(json::value(true) == "true");
  EXPECT(json::value(std::size_t{8589934592}) == "8589934592");
}

RANKED_TEST(json_objects_and_arrays, 1) {
  EXPECT(json::Object().text() == "{}");
  EXPECT(json::Object().field("a", 1).field("b", "x").raw("c", "[]").text() == R"({"a":1,"b":"x","c":[]})");
  EXPECT(json::array(std::vector<int>{}, [](int i) { return json::value(i); }) == "[]");
  EXPECT(json::array(std::vector<int>{1, 2}, [](int i) { return json::value(i); }) == "[1,2]");
}

RANKED_TEST(json_counts_have_all_their_digits, 1) {
  EXPECT(json::value(20964732.0) == "20964732");
  EXPECT(json::value(9007199254740991.0) == "9007199254740991");
  EXPECT(json::value(20964732.5) == "2.096473e+07");
  EXPECT(json::value(1e16) == "1e+16");
}
