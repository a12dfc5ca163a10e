// Updates of HPC Challenge RandomAccess: the lower bits of an update select the word of a table that is XORed with it.
// Updates are the powers x, x^2, x^3, … modulo the polynomial x^64 + x^2 + x + 1 over GF(2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kiviat::updates {

inline constexpr std::int64_t period = 1'317'624'576'693'539'401;

constexpr std::uint64_t next(std::uint64_t update) { return update << 1 ^ (update >> 63 ? 7 : 0); }

// Returns x^n for any n, without computing its predecessors. Update number i, counted from 0, is starts(i + 1).
std::uint64_t starts(std::int64_t n);

// Writes the updates that follow `state` and sets it to the last of them.
void generate(std::uint64_t& state, std::span<std::uint64_t> to);

// Part of a table of `mask` + 1 words: words first … first + count - 1.
struct Part {
  std::uint64_t* words;
  std::uint64_t first, count, mask;
};

// Counts of the updates applied to a part.
struct Tally {
  std::uint64_t sum = 0;     // sum of all received updates, including those that belong to other parts
  std::int64_t strayed = 0;  // number of updates that belong to other parts
};

// Applies the updates that belong to `part` and counts them in `tally`; counts the others as strayed.
void apply(const Part& part, std::span<const std::uint64_t> updates, Tally& tally);

}  // namespace kiviat::updates
