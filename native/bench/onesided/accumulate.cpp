// Accumulate: each rank of the first half adds a vector to one in the memory of its partner in the second half. FLOAT
// and SUM, as in the reductions.
#include "bench/onesided/window.hpp"

using namespace kiviat;

namespace {

std::span<float> floats(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

// Both summands are small whole numbers, so that their sum is exact.
bool is_sum(std::span<const float> sum, std::uint64_t seed, int rank, int other) {
  std::vector<float> mine(sum.size()), theirs(sum.size());
  payload::fill_addends(mine, seed, rank);
  payload::fill_addends(theirs, seed, other);
  for (std::size_t i = 0; i < sum.size(); ++i)
    if (sum[i] != mine[i] + theirs[i]) return false;
  return true;
}

}  // namespace

static void accumulate(Trial& t) {
  OneSided pairs(t);
  pairs.sample(
      [](std::byte* mine, int count, int target, MPI_Aint there, MPI_Win window) {
        const int elements = count / static_cast<int>(sizeof(float));
        MPI_Accumulate(mine, elements, MPI_FLOAT, target, there, elements, MPI_FLOAT, MPI_SUM, window);
      },
      {[](const OneSided::Memory& m, std::uint64_t seed) {
         payload::fill_addends(floats(m.origin ? m.mine : m.exposed), seed, m.rank);
       },
       [](const OneSided::Memory& m, std::uint64_t seed) {
         return m.origin || is_sum(floats(m.exposed), seed, m.rank, m.partner);
       }});
}

BENCHMARK(accumulate,
          .summary = "half of the ranks add vectors to those in the memory of the other half",
          .source = "OSU micro-benchmarks, osu_acc_latency",
          .aka = {"osu_acc_latency"},
          .ranks = pairs(),
          .element_bytes = sizeof(float),
          .bandwidth = true,
          .message_rate = true,
          .axes = onesided_axes());
