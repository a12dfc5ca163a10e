// Lengths of transforms that can be distributed over the ranks, and their division into slabs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "bench/hpcc/distributed_fft.hpp"

namespace kiviat {

// Returns lengths up to `most` that have small prime factors only, which are fastest.
inline std::vector<std::int64_t> smooth_numbers(std::int64_t most) {
  std::vector<std::int64_t> found;
  for (std::int64_t fives = 1; fives <= most; fives *= 5)
    for (std::int64_t threes = fives; threes <= most; threes *= 3)
      for (std::int64_t n = threes; n <= most; n *= 2) found.push_back(n);
  std::ranges::sort(found);
  return found;
}

// Returns the longest shape with at most `most` elements that `fits`. Prefers factors that are near each other and
// divide evenly among ranks, unless this shortens the transform by more than 3 %. {0, 0} if no shape fits.
inline FftShape longest_shape(std::int64_t most, int ranks, const std::function<bool(FftShape)>& fits) {
  FftShape best{0, 0};
  for (const std::int64_t unit : {std::int64_t{ranks} * 8, std::int64_t{ranks}, std::int64_t{1}}) {
    std::vector<FftShape> shapes;
    const std::vector<std::int64_t> lengths =
        smooth_numbers(2 * static_cast<std::int64_t>(std::sqrt(static_cast<double>(most))) / unit);
    for (const std::int64_t a : lengths)
      for (const std::int64_t b : lengths) {
        const FftShape shape{unit * a, unit * b};
        if (a <= b && b <= 4 * a && shape.n1 >= ranks && shape.n() >= 4 && shape.n() <= most && shape.n() > best.n())
          shapes.push_back(shape);
      }
    std::ranges::sort(shapes, [](const FftShape& one, const FftShape& other) { return one.n() > other.n(); });
    const auto found = std::ranges::find_if(shapes, fits);
    if (found != shapes.end() && static_cast<double>(found->n()) > 1.03 * static_cast<double>(best.n())) best = *found;
  }
  return best;
}

// Returns the two factors of n nearest to each other, neither less than the number of ranks, and if possible both
// multiples of it. {0, 0} if no such factors exist.
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

// Tuned on one node with shared memory: few and large messages, slabs of some megabytes. A single rank has no messages
// to wait for, and its slabs are single blocks. `cache_bytes`: last-level cache.
inline FftTuning tuning_of(FftShape shape, int ranks, std::size_t cache_bytes, bool simulated) {
  constexpr std::int64_t block_bytes = 2 << 20, slab_bytes = 8 << 20, message_bytes = 64 << 10, least_slabs = 4;
  const std::int64_t length = std::max(shape.n1, shape.n2), element = sizeof(Complex);
  FftTuning tuning;
  tuning.columns = std::clamp<std::int64_t>(block_bytes / (element * length), 8, 16);
  tuning.reuse =
      2 * element * (shape.n() / ranks) > static_cast<std::int64_t>(cache_bytes / 2) ? Reuse::late : Reuse::soon;
  if (ranks == 1) {
    tuning.blocks = 1, tuning.ahead = 0;
  } else if (simulated && ranks > 64) {
    // The simulator recomputes all bandwidths when a message begins or ends: if all ranks start steps together, most
    // messages do so at the same times, and simulation is faster.
    tuning.blocks = length, tuning.ahead = 0, tuning.in_steps = true;
  } else {
    // Bytes of a block, and number of blocks of a rank.
    const std::int64_t block = element * tuning.columns * length, of_rank = length / ranks / tuning.columns;
    tuning.blocks =
        std::max<std::int64_t>(1, std::min(std::max(slab_bytes, ranks * message_bytes) / block, of_rank / least_slabs));
    tuning.ahead = 1;
  }
  return tuning;
}

}  // namespace kiviat
