// Memory in huge pages.
#include "kernels/huge_pages.hpp"

#include <sys/resource.h>

#include <cstdint>
#include <utility>

#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::test;

RANKED_TEST(huge_pages_are_aligned_and_zero, 1) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{100'000}, HugePages::huge, 5 * HugePages::huge / 2 + 1}) {
    const HugePages pages(bytes);
    EXPECT(static_cast<bool>(pages));
    EXPECT(reinterpret_cast<std::uintptr_t>(pages.as<char>()) % (bytes >= HugePages::huge ? HugePages::huge : 4096) ==
           0);
    char seen = 0;
    for (std::size_t i = 0; i < bytes; ++i) seen |= pages.as<char>()[i], pages.as<char>()[i] = 1;
    EXPECT(seen == 0);
  }
}

RANKED_TEST(huge_pages_that_are_not_there_are_null, 1) {
  EXPECT(!HugePages(std::size_t{1} << 60));
  EXPECT(!HugePages(SIZE_MAX));
  EXPECT(!HugePages());
}

RANKED_TEST(huge_pages_move, 1) {
  HugePages pages(4 * HugePages::huge);
  char* const begin = pages.as<char>();
  begin[7] = 'x';
  const HugePages moved = std::move(pages);
  EXPECT(moved.as<char>() == begin);
  EXPECT(moved.as<char>()[7] == 'x');
}

RANKED_TEST(touched_pages_cause_no_faults, 1) {
  const auto faults = [] {
    rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
  };
  constexpr std::size_t bytes = std::size_t{9} << 20;
  const HugePages pages(bytes);
  pages.touch();
  const auto before = faults();
  for (std::size_t at = 0; at < bytes; at += 4096) pages.as<char>()[at] = 'x';
  EXPECT(faults() - before < 8);
}
