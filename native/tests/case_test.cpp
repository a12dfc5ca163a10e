#include "benchmark/case.hpp"

#include "helpers.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

std::string trouble(const std::string& line) {
  return thrown<UsageError>([&] { parse_case(line, 12); });
}

std::string sizes(const std::string& text) {
  std::string out;
  for (const auto size : parse_sizes(text)) out += std::to_string(size) + ' ';
  return out;
}

std::string bad_sizes(const std::string& text) {
  return thrown<UsageError>([&] { parse_sizes(text); });
}

}  // namespace

RANKED_TEST(a_case_is_read, 1) {
  const auto parsed = parse_case("pingpong/bytes=8 pingpong  bytes=8 root=rotate target=0.05 note=a=b empty=", 1);
  EXPECT(parsed->id == "pingpong/bytes=8");
  EXPECT(parsed->benchmark == "pingpong");
  EXPECT(parsed->integer("bytes", 0) == 8);
  EXPECT(parsed->integer("absent", 42) == 42);
  EXPECT(parsed->text("root", "0") == "rotate");
  EXPECT(parsed->text("note", "") == "a=b");
  EXPECT(parsed->text("empty", "x") == "");
  EXPECT(parsed->real("target", 0) == 0.05);
}

RANKED_TEST(blank_lines_and_comments_are_no_cases, 1) {
  for (const char* line : {"", "   ", "# pingpong", "#pingpong pingpong", "\t\r"}) EXPECT(!parse_case(line, 1));
}

RANKED_TEST(a_bad_case_says_where_and_what, 1) {
  EXPECT(trouble("lonely") == "cases file, line 12: a benchmark must follow the case 'lonely'");
  EXPECT(trouble("a b bytes") == "cases file, line 12: 'bytes' is not of the form key=value");
  EXPECT(trouble("a b =8") == "cases file, line 12: '=8' is not of the form key=value");
}

RANKED_TEST(bad_numbers_say_the_key_and_the_value, 1) {
  const Case spec{"a", "b", {{"bytes", "8k"}, {"target", "x"}, {"seed", "99999999999999999999"}, {"window", ""}}};
  EXPECT(thrown<UsageError>([&] { spec.integer("bytes", 0); }) == "bytes is '8k': give a whole number");
  EXPECT(contains(thrown<UsageError>([&] { spec.real("target", 0); }), "target is 'x': give a number"));
  EXPECT(contains(thrown<UsageError>([&] { spec.integer("seed", 0); }), "'99999999999999999999'"));
  EXPECT(contains(thrown<UsageError>([&] { spec.integer("window", 0); }), "window is ''"));
}

RANKED_TEST(sizes_are_read, 1) {
  EXPECT(sizes("8") == "8 ");
  EXPECT(sizes("1,64,4096") == "1 64 4096 ");
  EXPECT(sizes("0:8") == "0 1 2 4 8 ");
  EXPECT(sizes("1:9") == "1 2 4 8 ");
  EXPECT(sizes("3:9") == "4 8 ");
  EXPECT(sizes("0:0") == "0 ");
  EXPECT(sizes("8589934592") == "8589934592 ");  // beyond 32 bits
  EXPECT(parse_sizes("1:9223372036854775807").size() == 63);
}

RANKED_TEST(bad_sizes_are_refused, 1) {
  EXPECT(contains(bad_sizes("eight"), "'eight'"));
  EXPECT(contains(bad_sizes("8:"), "whole number"));
  EXPECT(contains(bad_sizes("8:4"), "'8:4'"));
  EXPECT(contains(bad_sizes("-1:4"), "'-1:4'"));
  EXPECT(contains(bad_sizes("4,-8"), "-8"));
  EXPECT(contains(bad_sizes("1,,2"), "''"));
  EXPECT(contains(bad_sizes(""), "''"));
  EXPECT(contains(bad_sizes("5:7"), "'5:7'"));  // contains no power of two
}
