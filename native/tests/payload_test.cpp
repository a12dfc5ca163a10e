#include "measure/payload.hpp"

#include <vector>

#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::payload;

namespace {

constexpr std::size_t lengths[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 100, 4099};
constexpr std::size_t offsets[] = {0, 1, 3, 7, 8, 13, 1'000'001};

std::vector<std::byte> filled(std::size_t bytes, std::uint64_t seed, int sender, std::size_t offset = 0) {
  std::vector<std::byte> out(bytes);
  fill(out, seed, sender, offset);
  return out;
}

}  // namespace

RANKED_TEST(payload_is_recognised_at_any_offset_and_length, 1) {
  for (const std::size_t length : lengths)
    for (const std::size_t offset : offsets) {
      const auto message = filled(length, 5, 2, offset);
      EXPECT(first_wrong(message, 5, 2, offset) == length);
    }
}

RANKED_TEST(a_part_of_a_payload_is_the_payload_at_its_offset, 1) {
  const auto whole = filled(100, 5, 2);
  for (std::size_t at = 0; at < 40; ++at) EXPECT(first_wrong(std::span(whole).subspan(at, 50), 5, 2, at) == 50);
}

RANKED_TEST(every_single_bit_counts, 1) {
  for (const std::size_t length : {1, 7, 8, 9, 24})
    for (std::size_t at = 0; at < length; ++at)
      for (int bit = 0; bit < 8; ++bit) {
        auto message = filled(length, 9, 1, 3);
        message[at] ^= static_cast<std::byte>(1 << bit);
        EXPECT(first_wrong(message, 9, 1, 3) == at);
      }
}

RANKED_TEST(poison_is_wrong_in_every_byte, 1) {
  for (const std::size_t offset : offsets) {
    std::vector<std::byte> poisoned(67);
    poison(poisoned, 5, 2, offset);
    for (std::size_t at = 0; at < poisoned.size(); ++at) {
      auto message = filled(67, 5, 2, offset);
      message[at] = poisoned[at];  // everything has arrived except this byte
      EXPECT(first_wrong(message, 5, 2, offset) == at);
    }
  }
}

RANKED_TEST(payloads_of_others_are_wrong, 1) {
  const auto message = filled(64, 5, 2);
  EXPECT(first_wrong(message, 5, 3) < 8);     // another sender
  EXPECT(first_wrong(message, 6, 2) < 8);     // another seed, as in the previous message
  EXPECT(first_wrong(message, 5, 2, 8) < 8);  // another position
}

RANKED_TEST(fill_stays_in_bounds, 1) {
  std::vector<std::byte> out(32, std::byte{0});
  fill(std::span(out).subspan(8, 13), 5, 2, 3);
  for (std::size_t at = 0; at < out.size(); ++at)
    if (at < 8 || at >= 21) EXPECT((out[at] == std::byte{0}));
}

RANKED_TEST(sums_are_exact_and_every_one_is_checked, 1, 2, 4) {
  constexpr std::size_t elements = 257;
  std::vector<float> in(elements), out(elements);
  fill_addends(in, 11, world.rank);
  MPI_Allreduce(in.data(), out.data(), elements, MPI_FLOAT, MPI_SUM, world.comm);
  EXPECT(first_wrong_sum(out, 11, world.size, 0) == elements);
  EXPECT(first_wrong_sum(std::span(out).subspan(31), 11, world.size, 31) ==
         elements - 31);  // the part that a reduce_scatter delivers
  EXPECT(first_wrong_sum(out, 12, world.size, 0) < 64);
  EXPECT(first_wrong_sum(out, 11, world.size + 1, 0) < 64);
  std::vector<float> poisoned(elements);
  poison_sums(poisoned, 11, world.size, 0);
  for (const std::size_t at : {std::size_t{0}, std::size_t{100}, elements - 1}) {
    auto partly = out;
    partly[at] = poisoned[at];
    EXPECT(first_wrong_sum(partly, 11, world.size, 0) == at);
  }
}

RANKED_TEST(a_missing_addend_is_seen, 1) {
  // The contribution of a rank must not be all zeros for any seed in use.
  for (std::uint64_t seed = 1; seed < 200; ++seed) {
    std::vector<float> in(16), sum(16);
    for (int rank = 0; rank < 3; ++rank) {  // of a float's four
      fill_addends(in, seed, rank);
      for (std::size_t i = 0; i < 16; ++i) sum[i] += in[i];
    }
    EXPECT(first_wrong_sum(sum, seed, 4, 0) < 16);
  }
}
