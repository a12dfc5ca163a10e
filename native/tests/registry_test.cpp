#include "benchmark/registry.hpp"

#include <algorithm>

#include "helpers.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::test;

RANKED_TEST(benchmarks_are_found_by_name_alias_and_any_case, 1) {
  EXPECT(find_benchmark("pingpong").name == "pingpong");
  EXPECT(find_benchmark("PingPong").name == "pingpong");
  EXPECT(find_benchmark("osu_latency").name == "pingpong");
  EXPECT(find_benchmark("ALLREDUCE").name == "allreduce");
  EXPECT(find_benchmark("pingpong").file == "pt2pt/pingpong");
}

RANKED_TEST(an_unknown_benchmark_names_the_nearest, 1) {
  const auto trouble = [](const char* name) { return thrown<UsageError>([&] { find_benchmark(name); }); };
  EXPECT(contains(trouble("pingpog"), "'pingpog'; did you mean 'pingpong'?"));
  EXPECT(contains(trouble("osu_latencies"), "did you mean 'pingpong'?"));
  EXPECT(contains(trouble("alreduce"), "did you mean 'allreduce'?"));
  EXPECT(contains(trouble("x"), "--list"));
  EXPECT(!contains(trouble("x"), "did you mean"));  // no similar name
  EXPECT(contains(trouble(""), "--list"));
}

RANKED_TEST(a_shared_alias_means_all_that_have_it, 1) {
  std::string names;
  for (const Benchmark* benchmark : find_benchmarks("Dense")) names += benchmark->name + " ";
  EXPECT(names == "dense_cumulative dense_pairwise dense_random dense_total_exchange ");
  EXPECT(find_benchmarks("osu_latency").size() == 1);
  EXPECT(thrown<UsageError>([] { find_benchmark("dense"); }) ==
         "benchmark name 'dense' is ambiguous: give one of dense_cumulative, dense_pairwise, dense_random, "
         "dense_total_exchange");
}

RANKED_TEST(names_and_aliases_are_unique, 1) {
  std::vector<std::string> names;
  for (const Benchmark& benchmark : benchmarks()) {
    names.push_back(benchmark.name);
    EXPECT(std::ranges::all_of(benchmark.name, [](char c) { return std::islower(c) || std::isdigit(c) || c == '_'; }));
    EXPECT(!benchmark.traits.summary.empty());
    EXPECT(!benchmark.traits.source.empty());
    EXPECT(&find_benchmark(benchmark.name) == &benchmark);
    for (const std::string& alias : benchmark.traits.aka) {
      const auto meant = find_benchmarks(alias);
      EXPECT(std::ranges::count(meant, &benchmark) == 1);
      // Aliases of families denote several benchmarks; names of IMB and OSU denote one.
      EXPECT((meant.size() == 1 || alias == "dense" || alias == "hpo" || alias == "npb"));
    }
    for (const Axis& axis : benchmark.axes()) {
      EXPECT(!axis.help.empty());
      const auto& words = axis.accepted.words;
      EXPECT((!words.empty() || axis.accepted.bounds));
      EXPECT(std::ranges::count(words, axis.fallback) <= 1);
      axis.check(axis.fallback);  // throws if the default is not accepted
    }
  }
  EXPECT(std::ranges::is_sorted(names));
  EXPECT(std::ranges::adjacent_find(names) == names.end());
}

RANKED_TEST(rank_rules, 1) {
  EXPECT(exactly(2).allows(2));
  EXPECT(!exactly(2).allows(1));
  EXPECT(!exactly(2).allows(4));
  EXPECT(at_least(2).allows(40));
  EXPECT(!at_least(2).allows(1));
  EXPECT(pairs().allows(6));
  EXPECT(!pairs().allows(5));
  EXPECT(!pairs().allows(0));
  EXPECT(powers_of_two().allows(1));
  EXPECT(powers_of_two().allows(64));
  EXPECT(!powers_of_two().allows(0));
  EXPECT(!powers_of_two().allows(12));
  EXPECT(squares().allows(1));
  EXPECT(squares().allows(49));
  EXPECT(!squares().allows(0));
  EXPECT(!squares().allows(50));
  EXPECT(powers_of_two().most(63) == 32);
  EXPECT(squares().most(63) == 49);
  EXPECT(pairs().most(7) == 6);
  EXPECT(pairs().most(1) == 0);
  EXPECT(exactly(2).most(9) == 2);
  EXPECT(at_least(1).most(9) == 9);
  EXPECT((RankRule{3, 9, 3}.allows(9)));
  EXPECT((!RankRule{3, 9, 3}.allows(12)));
  EXPECT(exactly(2).text() == "exactly 2");
  EXPECT(pairs().text() == "at least 2, a multiple of 2");
  EXPECT((RankRule{3, 9, 3}.text() == "at least 3, at most 9, a multiple of 3"));
}

RANKED_TEST(axes_accept_what_they_declare, 1) {
  const auto refusal = [](const Axis& axis, const char* value) {
    try {
      axis.check(value);
      return std::string();
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
  };
  const Axis words{"words", "a", "", "", {"a", "b"}}, few{"few", "3", "", "", Bounds{1, 9}},
      some{"some", "auto", "", "", {"auto", Bounds{1, 9}}};
  EXPECT(refusal(words, "b").empty());
  for (const char* value : {"c", "", "auto"}) EXPECT(refusal(words, value).ends_with(": give one of a, b"));
  for (const char* value : {"1", "9"}) EXPECT((refusal(few, value) + refusal(some, value)).empty());
  EXPECT(refusal(few, "0") == "few=0: give 1 to 9");
  for (const char* value : {"10", "-1", "1.5", "x", "", "auto"}) EXPECT(refusal(few, value).ends_with(": give 1 to 9"));
  EXPECT(refusal(some, "auto").empty());
  for (const char* value : {"10", "auto:9", "most"}) EXPECT(refusal(some, value).ends_with(": give 1 to 9, or auto"));
  Axis limited = some;
  limited.accepted.limits = true;
  EXPECT(refusal(limited, "auto:9").empty());
  EXPECT(refusal(limited, "auto:10").ends_with(": give 1 to 9, or auto, or auto:BYTES"));
}

RANKED_TEST(axes_are_found, 1) {
  const Benchmark& benchmark = find_benchmark("pingpong");
  EXPECT(benchmark.axis("distance")->fallback == "1");
  EXPECT(benchmark.axis("cache")->accepted.words.size() == 2);  // an axis common to all
  EXPECT(!benchmark.axis("nonsense"));
}
