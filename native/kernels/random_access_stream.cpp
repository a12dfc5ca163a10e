#include "kernels/random_access_stream.hpp"

#include <algorithm>

#include "kernels/target_clones.hpp"

namespace kiviat::updates {
namespace {

// Product of two polynomials over GF(2); bit i is the coefficient of x^i.
constexpr std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  for (; b; b >>= 1, a = next(a))
    if (b & 1) product ^= a;
  return product;
}

constexpr std::size_t stretch = 32;

// Multiplies by x^k: a shift by k moves k bits out at the top, each of which returns as x^2 + x + 1. So all updates of
// a group follow from the first one, independently of each other.
KIVIAT_COMPILED_FOR("default", "avx2", "avx512f")
void generate_stretches(std::uint64_t& state, std::uint64_t* to, std::size_t stretches) {
  std::uint64_t before = state;
  for (std::size_t s = 0; s < stretches; ++s, to += stretch) {
    for (std::size_t k = 1; k <= stretch; ++k) {
      const std::uint64_t out = before >> (64 - k);
      to[k - 1] = before << k ^ out ^ out << 1 ^ out << 2;
    }
    before = to[stretch - 1];
  }
  state = before;
}

}  // namespace

std::uint64_t starts(std::int64_t n) {
  std::uint64_t power = 1, square = 2;
  for (n = (n % period + period) % period; n; n >>= 1, square = times(square, square))
    if (n & 1) power = times(power, square);
  return power;
}

void generate(std::uint64_t& state, std::span<std::uint64_t> to) {
  const std::size_t stretches = to.size() / stretch;
  generate_stretches(state, to.data(), stretches);
  for (std::uint64_t& update : to.subspan(stretches * stretch)) update = state = next(state);
}

// Prefetches words well before they are updated, as many as a processor can have outstanding.
void apply(const Part& part, std::span<const std::uint64_t> updates, Tally& tally) {
  constexpr std::size_t ahead = 64;
  std::uint64_t sum = 0;
  std::int64_t strayed = 0;
  const std::size_t count = updates.size(), prefetched = count > ahead ? count - ahead : 0;
  const auto ask = [&](std::size_t i) { __builtin_prefetch(part.words + ((updates[i] & part.mask) - part.first), 1); };
  const auto change = [&](std::size_t i) {
    const std::uint64_t at = (updates[i] & part.mask) - part.first;
    sum += updates[i];
    if (at < part.count)
      part.words[at] ^= updates[i];
    else
      ++strayed;
  };
  for (std::size_t i = 0; i < std::min(count, ahead); ++i) ask(i);
  for (std::size_t i = 0; i < prefetched; ++i) ask(i + ahead), change(i);
  for (std::size_t i = prefetched; i < count; ++i) change(i);
  tally.sum += sum, tally.strayed += strayed;
}

}  // namespace kiviat::updates
