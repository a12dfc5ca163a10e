#include "measure/payload.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "support/random.hpp"

namespace kiviat::payload {
namespace {

using Word = std::uint64_t;

// The payload is a sequence of words. Each word is a hash of seed, sender and position, so data from another sender, an
// earlier message or another position differs in nearly every byte. One multiplication generates a word, so checking a
// large message costs no more than moving it.
constexpr Word spread(Word x) {
  x *= 0x9e3779b97f4a7c15ull;
  return x ^ x >> 32;
}

// Calls part(position in the buffer, word, first byte of the word, bytes) for the incomplete words at
// both ends and whole(position, word) for those between, until one of them returns false.
template <class Part, class Whole>
void each_word(std::size_t bytes, std::uint64_t seed, int sender, std::size_t offset, Part part, Whole whole) {
  const Word stream = mix(seed) + static_cast<Word>(sender) * 0xd1342543de82ef95ull;
  const auto word = [&](std::size_t at) { return spread(stream + (offset + at) / sizeof(Word)); };
  std::size_t at = 0;
  if (const std::size_t skipped = offset % sizeof(Word); skipped > 0 && bytes > 0) {
    at = std::min(sizeof(Word) - skipped, bytes);
    if (!part(0, word(0), skipped, at)) return;
  }
  for (; at + sizeof(Word) <= bytes; at += sizeof(Word))
    if (!whole(at, word(at))) return;
  if (at < bytes) part(at, word(at), 0, bytes - at);
}

void write(std::span<std::byte> out, std::uint64_t seed, int sender, std::size_t offset, Word flip) {
  each_word(
      out.size(), seed, sender, offset,
      [&](std::size_t at, Word word, std::size_t skipped, std::size_t length) {
        word ^= flip;
        std::memcpy(out.data() + at, reinterpret_cast<const std::byte*>(&word) + skipped, length);
        return true;
      },
      [&](std::size_t at, Word word) {
        word ^= flip;
        std::memcpy(out.data() + at, &word, sizeof word);
        return true;
      });
}

// Never 0, so that a missing addend changes the sum.
float of_rank(std::uint64_t seed, int rank) {
  return static_cast<float>(1 + mix(seed ^ static_cast<std::uint64_t>(rank + 1) << 32) % 8);
}
float of_position(std::uint64_t seed, std::size_t position) {
  return static_cast<float>(spread(mix(seed) + position) % 8);
}

// Calls visit(position in the buffer, expected sum) until it returns false.
template <class Visit>
void each_sum(std::size_t count, std::uint64_t seed, int ranks, std::size_t first, Visit visit) {
  float of_ranks = 0;
  for (int rank = 0; rank < ranks; ++rank) of_ranks += of_rank(seed, rank);
  for (std::size_t i = 0; i < count; ++i)
    if (!visit(i, of_ranks + static_cast<float>(ranks) * of_position(seed, first + i))) return;
}

}  // namespace

void fill(std::span<std::byte> out, std::uint64_t seed, int sender, std::size_t offset) {
  write(out, seed, sender, offset, 0);
}

void poison(std::span<std::byte> out, std::uint64_t seed, int sender, std::size_t offset) {
  write(out, seed, sender, offset, ~std::uint64_t{0});
}

std::size_t first_wrong(std::span<const std::byte> in, std::uint64_t seed, int sender, std::size_t offset) {
  std::size_t wrong = in.size();
  const auto part = [&](std::size_t at, Word word, std::size_t skipped, std::size_t length) {
    const std::byte* right = reinterpret_cast<const std::byte*>(&word) + skipped;
    if (std::memcmp(in.data() + at, right, length) == 0) return true;
    wrong = at + (std::mismatch(right, right + length, in.data() + at).first - right);
    return false;
  };
  each_word(in.size(), seed, sender, offset, part, [&](std::size_t at, Word word) {
    Word seen;
    std::memcpy(&seen, in.data() + at, sizeof seen);
    return seen == word || part(at, word, 0, sizeof word);
  });
  return wrong;
}

void fill_addends(std::span<float> out, std::uint64_t seed, int rank) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = of_rank(seed, rank) + of_position(seed, i);
}

void poison_sums(std::span<float> out, std::uint64_t seed, int ranks, std::size_t first) {
  each_sum(out.size(), seed, ranks, first, [&](std::size_t i, float sum) {
    out[i] = std::bit_cast<float>(~std::bit_cast<std::uint32_t>(sum));  // every byte is wrong
    return true;
  });
}

std::size_t first_wrong_sum(std::span<const float> in, std::uint64_t seed, int ranks, std::size_t first) {
  std::size_t wrong = in.size();
  each_sum(in.size(), seed, ranks, first, [&](std::size_t i, float sum) {
    if (in[i] == sum) return true;
    wrong = i;
    return false;
  });
  return wrong;
}

}  // namespace kiviat::payload
