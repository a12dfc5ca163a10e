// The updates of RandomAccess, as HPC Challenge defines them: numbers whose lower bits say which word of a table is to
// be XORed with them. They are the powers x, x^2, x^3, … of a polynomial modulo x^64 + x^2 + x + 1 over the field of
// two elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kiviat::updates {

inline constexpr std::int64_t period = 1'317'624'576'693'539'401;

constexpr std::uint64_t next(std::uint64_t update) { return update << 1 ^ (update >> 63 ? 7 : 0); }

// x^n, without those before it; any n. Update number i, from 0 on, is starts(i + 1).
std::uint64_t starts(std::int64_t n);

// The updates that follow `state`, which becomes the last one of them.
void generate(std::uint64_t& state, std::span<std::uint64_t> to);

// A part of a table of `mask` + 1 words, from word `first` on.
struct Part {
  std::uint64_t* words;
  std::uint64_t first, count, mask;
};

// Counts of the updates applied to a part.
struct Tally {
  std::uint64_t sum = 0;     // of all updates that came, whether they were meant for it or not
  std::int64_t strayed = 0;  // updates that were not
};

void apply(const Part& part, std::span<const std::uint64_t> updates, Tally& tally);

}  // namespace kiviat::updates
