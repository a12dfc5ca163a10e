// Averages of b_eff, from fabricated timings whose averages are known in closed form.
#include <cmath>
#include <functional>

#include "bench/pattern/b_eff_average.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

constexpr std::int64_t largest = 1 << 20;  // up to here all sizes are powers of two

bool near(double value, double expected) { return std::abs(value / expected - 1) < 1e-12; }

// Bandwidth of a pattern of `messages` messages whose best method and repetition takes `seconds(bytes)` per call; all
// others are slower.
PatternBandwidth fabricated(const BEffExtent& extent, double messages,
                            const std::function<double(double bytes)>& seconds) {
  const auto sizes = b_eff_sizes(largest, extent.every_size);
  return pattern_bandwidth(
      sizes.size(), 3, extent.repetitions, [&](std::size_t size, std::size_t method, int repetition) {
        const auto bytes = static_cast<double>(sizes[size]);
        const bool best = method == size % 3 && repetition == static_cast<int>(size) % extent.repetitions;
        return messages * bytes / seconds(bytes) * (best ? 1 : 0.7);
      });
}

// Six rings of 2^0 … 2^5 messages, random patterns of 2^10 each.
BEff fabricated(const BEffExtent& extent, const std::function<double(double bytes)>& seconds) {
  std::vector<PatternBandwidth> rings, randoms;
  for (int ring = 0; ring < 6; ++ring) rings.push_back(fabricated(extent, std::exp2(ring), seconds));
  for (int random = 0; random < extent.randoms; ++random) randoms.push_back(fabricated(extent, 1024, seconds));
  return b_eff_of(rings, randoms);
}

// Logarithmic means of the numbers of messages: of rings, 2^0 … 2^5, and of that mean with the random patterns' 2^10.
const double ring_messages = std::exp2(2.5), all_messages = std::exp2(6.25);

}  // namespace

RANKED_TEST(b_eff_has_21_sizes, 1) {
  const auto sizes = b_eff_sizes(largest, 1);
  EXPECT(sizes.size() == 21);
  for (std::size_t i = 0; i < sizes.size(); ++i) EXPECT(sizes[i] == std::int64_t{1} << i);
  // With messages up to 128 MiB, successive sizes from 4 KiB grow by 32768^(1/8) = 3.668.
  const auto large = b_eff_sizes(std::int64_t{128} << 20, 1);
  EXPECT(large[12] == 4096);
  EXPECT(large[13] == 15024);
  EXPECT(large[16] == 741455);
  EXPECT(large[20] == std::int64_t{128} << 20);
  const auto half = b_eff_sizes(largest, 2);
  EXPECT(half.size() == 11);
  for (std::size_t i = 0; i < half.size(); ++i) EXPECT(half[i] == std::int64_t{1} << 2 * i);
}

RANKED_TEST(b_eff_loops_less_over_large_messages, 1) {
  EXPECT(b_eff_loops(largest, 1, 300) == 300);
  EXPECT(b_eff_loops(largest, 4096, 300) == 256);
  EXPECT(b_eff_loops(largest, 65'536, 300) == 16);
  EXPECT(b_eff_loops(largest, largest, 300) == 1);
  EXPECT(b_eff_loops(largest, 4096, 60) == 60);
}

// Time is proportional to size: every size has the same bandwidth.
RANKED_TEST(b_eff_of_a_network_without_latency, 1) {
  for (const BEffExtent& extent : {b_eff_full, b_eff_quick}) {
    const BEff found = fabricated(extent, [](double bytes) { return bytes / 1e9; });
    EXPECT(near(found.rings, ring_messages * 1e9));
    EXPECT(near(found.randoms, 1024e9));
    EXPECT(near(found.b_eff, all_messages * 1e9));
    EXPECT(near(found.at_largest, all_messages * 1e9));
    EXPECT(near(found.rings_at_largest, ring_messages * 1e9));
  }
}

// Time is constant: the mean of L / latency over sizes 2^0 … 2^20 is (2^21 - 1) / 21 / latency, and over 4^0 … 4^10 it
// is (4^11 - 1) / 3 / 11 / latency.
RANKED_TEST(b_eff_of_a_network_of_latency_alone, 1) {
  constexpr double latency_s = 1e-6;
  const auto seconds = [](double) { return latency_s; };
  const double mean_of_full = 2'097'151.0 / 21 / latency_s, mean_of_quick = 4'194'303.0 / 33 / latency_s;
  const BEff full = fabricated(b_eff_full, seconds), quick = fabricated(b_eff_quick, seconds);
  EXPECT(near(full.rings, ring_messages * mean_of_full));
  EXPECT(near(full.b_eff, all_messages * mean_of_full));
  EXPECT(near(quick.b_eff, all_messages * mean_of_quick));
  for (const BEff& found : {full, quick}) {
    EXPECT(near(found.at_largest, all_messages * 1'048'576 / latency_s));
    EXPECT(near(found.rings_at_largest, ring_messages * 1'048'576 / latency_s));
  }
}

// t = latency + L / bandwidth: with latency · bandwidth = 1 B each size has bandwidth · L / (1 + L).
RANKED_TEST(b_eff_of_latency_and_bandwidth, 1) {
  double sum = 0;
  for (int k = 0; k <= 20; ++k) sum += 1 / (1 + std::exp2(-k));
  const BEff found = fabricated(b_eff_full, [](double bytes) { return 1e-9 + bytes / 1e9; });
  EXPECT(near(found.b_eff, all_messages * 1e9 * sum / 21));
  EXPECT(near(found.at_largest, all_messages * 1e9 / (1 + std::exp2(-20))));
}

// Rings and random patterns have equal weight, whatever their numbers.
RANKED_TEST(b_eff_weighs_rings_and_randoms_alike, 1) {
  const std::vector<PatternBandwidth> rings(6, {4e9, 16e9}), randoms(30, {1e9, 1e9});
  const BEff found = b_eff_of(rings, randoms);
  EXPECT(near(found.b_eff, 2e9));
  EXPECT(near(found.at_largest, 4e9));
}
