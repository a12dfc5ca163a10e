// Lengths of transforms: which of them ranks can share, and how they are cut into slabs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "bench/hpcc/distributed_fft.hpp"

namespace kiviat {

// Lengths without large factors are quickest, and many.
inline std::vector<std::int64_t> smooth_numbers(std::int64_t most) {
  std::vector<std::int64_t> found;
  for (std::int64_t fives = 1; fives <= most; fives *= 5)
    for (std::int64_t threes = fives; threes <= most; threes *= 3)
      for (std::int64_t n = threes; n <= most; n *= 2) found.push_back(n);
  std::ranges::sort(found);
  return found;
}

// The longest transform of at most `most` elements that `fits`: factors that are not far apart, and are shared out evenly
// unless more than 3 % of the length is lost by that. {0, 0} if none does.
inline FftShape longest_shape(std::int64_t most, int ranks, const std::function<bool(FftShape)>& fits) {
  FftShape best{0, 0};
  for (const std::int64_t unit : {std::int64_t{ranks} * 8, std::int64_t{ranks}, std::int64_t{1}}) {
    std::vector<FftShape> shapes;
    const std::vector<std::int64_t> lengths = smooth_numbers(2 * static_cast<std::int64_t>(std::sqrt(static_cast<double>(most))) / unit);
    for (const std::int64_t a : lengths)
      for (const std::int64_t b : lengths) {
        const FftShape shape{unit * a, unit * b};
        if (a <= b && b <= 4 * a && shape.n1 >= ranks && shape.n() >= 4 && shape.n() <= most && shape.n() > best.n()) shapes.push_back(shape);
      }
    std::ranges::sort(shapes, [](const FftShape& one, const FftShape& other) { return one.n() > other.n(); });
    const auto found = std::ranges::find_if(shapes, fits);
    if (found != shapes.end() && static_cast<double>(found->n()) > 1.03 * static_cast<double>(best.n())) best = *found;
  }
  return best;
}

// The two factors of n nearest to each other, of those that ranks share evenly if there are such, of which none is less than
// the number of ranks. {0, 0} if there are none.
inline FftShape shape_of_length(std::int64_t n, int ranks) {
  FftShape best{0, 0};
  bool even = false;
  for (std::int64_t a = ranks; a <= n / a; ++a) {
    if (n % a != 0) continue;
    const bool shared = a % ranks == 0 && n / a % ranks == 0;
    if (shared || !even) best = {a, n / a}, even = shared;
  }
  return best;
}

inline FftTuning tuning_of(FftShape shape, int ranks, bool simulated) {
  constexpr std::int64_t block_bytes = 512 << 10, message_bytes = 256 << 10;
  FftTuning tuning;
  const std::int64_t longest = std::max(shape.n1, shape.n2);
  tuning.columns = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, block_bytes / 16 / longest)))), 4, 16);
  const std::int64_t of_pair = std::max<std::int64_t>(1, 16 * tuning.columns * longest / ranks);  // bytes of a message of one block
  tuning.blocks = std::max<std::int64_t>(1, message_bytes / of_pair);
  // Simulators share out bandwidth among all messages that are under way, which takes most of their time.
  if (simulated && ranks > 64) tuning.blocks = longest, tuning.ahead = 0, tuning.at_once = 2;
  return tuning;
}

}  // namespace kiviat
