// Interface of the profiler for Kiviat's simulated programs, which look these functions up by name and so also run
// without the profiler.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "prof/profiler.hpp"

#define KIVIAT_EXPORT extern "C" __attribute__((visibility("default")))

namespace kiviat::prof {
namespace {

struct Replacement {
  void *simulators, *by;
};
std::array<Replacement, 4> replacements{};

// Returns whether the word at index `at` of State is a sum; other words are keys or maxima.
bool is_sum(std::size_t at) {
  constexpr std::size_t slots = offsetof(State, slots) / sizeof(Word), groups = offsetof(State, groups) / sizeof(Word);
  constexpr std::size_t slot = sizeof(Slot) / sizeof(Word), group = sizeof(Group) / sizeof(Word);
  if (at < groups)
    return at >= slots && (at - slots) % slot != offsetof(Slot, key) / sizeof(Word) &&
           (at - slots) % slot != offsetof(Slot, longest) / sizeof(Word);
  return at >= words_without_rows || (at - groups) % group >= offsetof(Group, messages) / sizeof(Word);
}

}  // namespace

void* instead_of(void* simulators) {
  for (const Replacement& one : replacements)
    if (one.simulators == simulators) return one.by;
  return simulators;
}

// Registers the program's replacement `by` of a simulator function: the profiler's wrapper forwards to it.
KIVIAT_EXPORT void kiviat_profiler_replace(void* simulators, void* by) {
  const auto free = std::ranges::find_if(
      replacements, [&](const Replacement& one) { return !one.simulators || one.simulators == simulators; });
  if (free != replacements.end()) *free = {simulators, by};
}

// Extrapolation of skipped iterations: counts between watch() and repeat(times) are added `times` more times.
KIVIAT_EXPORT void kiviat_profiler_watch() {
  const Profiler& mine = profiler();
  if (!mine.state) return;
  const auto* const words = reinterpret_cast<const Word*>(mine.state);
  profiler().watched.assign(words, words + words_of(static_cast<std::size_t>(mine.ranks)));
}

KIVIAT_EXPORT void kiviat_profiler_repeat(double times) {
  Profiler& mine = profiler();
  if (!mine.state || mine.watched.empty()) return;
  auto* const words = reinterpret_cast<Word*>(mine.state);
  for (std::size_t at = 0; at < mine.watched.size(); ++at)
    if (is_sum(at) && words[at] != mine.watched[at])
      words[at] += static_cast<Word>(std::llround(times * static_cast<double>(words[at] - mine.watched[at])));
  mine.watched = {};
}

}  // namespace kiviat::prof
