// RandomAccess: its random sequence, the distributed table, and errors that the replay must detect.
#include <bit>
#include <numeric>

#include "bench/hpcc/update_replay.hpp"
#include "kernels/huge_pages.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

// The table of all ranks by the definition, one update after the other.
std::vector<std::uint64_t> table_by_definition(int bits, std::int64_t count) {
  std::vector<std::uint64_t> table(std::size_t{1} << bits);
  std::iota(table.begin(), table.end(), std::uint64_t{0});
  std::int64_t update = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    update = static_cast<std::int64_t>(static_cast<std::uint64_t>(update) << 1) ^ (update < 0 ? 7 : 0);
    table[static_cast<std::uint64_t>(update) & (table.size() - 1)] ^= static_cast<std::uint64_t>(update);
  }
  return table;
}

struct OwnPart {
  OwnPart(MPI_Comm comm, int bits, int ranks, int rank, std::int64_t all, int greatest_base = 16)
      : share{bits, ranks},
        words(share.count(rank)),
        part{words.data(), share.first(rank), share.count(rank), share.mask()},
        mine{all * rank / ranks, all * (rank + 1) / ranks - all * rank / ranks},
        router(comm, share, greatest_base) {
    reset(part);
  }
  // Applies all updates except those of batch `left_out` of rank 0.
  void run(int rank, std::int64_t left_out = -1) {
    std::vector<std::uint64_t> numbers(UpdateRouter::batch);
    std::uint64_t state = updates::starts(mine.first);
    for (std::int64_t b = 0; b * static_cast<std::int64_t>(numbers.size()) < mine.count + 1; ++b) {
      const std::int64_t rest = mine.count - b * static_cast<std::int64_t>(numbers.size());
      const std::span<std::uint64_t> now(numbers.data(),
                                         std::min<std::size_t>(numbers.size(), static_cast<std::size_t>(rest)));
      updates::generate(state, now);
      router(rank == 0 && b == left_out ? std::span<std::uint64_t>() : now,
             [&](std::span<const std::uint64_t> come) { updates::apply(part, come, tally); });
    }
  }
  TableShare share;
  std::vector<std::uint64_t> words;
  updates::Part part;
  UpdateRange mine;
  UpdateRouter router;
  updates::Tally tally;
};

}  // namespace

RANKED_TEST(updates_jump_to_where_steps_lead, 1) {
  std::uint64_t stepped = 1;
  for (std::int64_t n = 0; n < 5000; ++n, stepped = updates::next(stepped)) EXPECT(updates::starts(n) == stepped);
  EXPECT(updates::starts(updates::period) == 1);
  EXPECT(updates::starts(-1) == updates::starts(updates::period - 1));
  EXPECT(updates::next(updates::starts(-1)) == 1);
  // Starting points are consistent: b steps from x^a give x^(a + b).
  for (const std::int64_t far : {std::int64_t{1} << 40, updates::period - 700, std::int64_t{123'456'789'012'345}}) {
    stepped = updates::starts(far);
    for (int n = 0; n < 1000; ++n) stepped = updates::next(stepped);
    EXPECT(updates::starts(far + 1000) == stepped);
  }
}

RANKED_TEST(updates_are_generated_as_they_are_stepped, 1) {
  for (const std::size_t count : {0, 1, 31, 32, 33, 1000, 4096}) {
    std::uint64_t state = updates::starts(77), stepped = state;
    std::vector<std::uint64_t> numbers(count);
    updates::generate(state, numbers);
    bool same = true;
    for (const std::uint64_t number : numbers) same = same && number == (stepped = updates::next(stepped));
    EXPECT(same);
    EXPECT(state == stepped);
  }
}

RANKED_TEST(every_word_has_one_owner, 1) {
  for (const int ranks : {1, 2, 3, 5, 7, 64, 576}) {
    const TableShare share{10, ranks};
    std::uint64_t next = 0, fewest = 1024, most = 0;
    bool owned = true;
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT(share.first(rank) == next);
      for (std::uint64_t word = next; word < next + share.count(rank); ++word)
        owned = owned && share.owner(word) == rank;
      next += share.count(rank), fewest = std::min(fewest, share.count(rank)), most = std::max(most, share.count(rank));
    }
    EXPECT(owned);
    EXPECT(next == 1024);
    EXPECT(most - fewest <= 1);
  }
}

RANKED_TEST(digits_number_all_ranks, 1) {
  using Bases = std::vector<int>;
  EXPECT((digit_bases(1, 16) == Bases{}));
  EXPECT((digit_bases(8, 16) == Bases{8}));
  EXPECT((digit_bases(576, 16) == Bases{16, 12, 3}));
  EXPECT((digit_bases(37, 16) == Bases{37}));
  for (int ranks = 1; ranks < 2000; ++ranks) {
    const Bases bases = digit_bases(ranks, 16);
    EXPECT(std::accumulate(bases.begin(), bases.end(), 1, std::multiplies()) == ranks);
  }
}

// Updates are routed in one stage, with four ranks in two; three ranks share a table whose size is a power of two.
RANKED_TEST(tables_in_parts_are_those_of_the_definition, 1, 2, 4) {
  for (int ranks = 1; ranks <= world.size; ++ranks) {
    MPI_Comm comm;
    MPI_Comm_split(world.comm, world.rank < ranks, world.rank, &comm);
    if (world.rank < ranks)
      for (const auto& [bits, greatest_base] : {std::pair(3, 16), {10, 16}, {13, 16}, {10, 2}, {13, 2}}) {
        const std::int64_t all = std::int64_t{4} << bits;
        const std::vector<std::uint64_t> right = table_by_definition(bits, all);
        OwnPart table(comm, bits, ranks, world.rank, all, greatest_base);
        table.run(world.rank);
        EXPECT(std::equal(table.words.begin(), table.words.end(),
                          right.begin() + static_cast<std::ptrdiff_t>(table.part.first)));
        EXPECT(table.tally.strayed == 0);
        EXPECT(table.router.lost() == 0);
        EXPECT(replayed(comm, table.share, table.part, table.mine, table.tally).reason == "");
      }
    MPI_Comm_free(&comm);
  }
}

RANKED_TEST(a_lost_batch_of_updates_is_noticed, 1, 2, 4) {
  OwnPart table(world.comm, 13, world.size, world.rank, std::int64_t{4} << 13);
  table.run(world.rank, 1);
  const Verdict verdict = replayed(world.comm, table.share, table.part, table.mine, table.tally);
  EXPECT(verdict.wrong_words > 0);
  EXPECT(verdict.reason.find("wrong after the replay") != std::string::npos);
}

RANKED_TEST(one_wrong_word_is_noticed, 1, 2) {
  OwnPart table(world.comm, 10, world.size, world.rank, std::int64_t{4} << 10);
  table.run(world.rank);
  if (world.rank == world.size - 1) table.words.back() ^= 1 << 20;
  EXPECT(replayed(world.comm, table.share, table.part, table.mine, table.tally).wrong_words ==
         (world.rank == world.size - 1));
}

// The table alone would not reveal these updates, because they are missing in the replay, too.
RANKED_TEST(updates_that_never_arrive_are_noticed, 1) {
  OwnPart table(world.comm, 10, 1, 0, 4096);
  table.run(0);
  table.tally.sum -= 12'345;
  const Verdict verdict = replayed(world.comm, table.share, table.part, table.mine, table.tally);
  EXPECT(verdict.reason.find("lost or corrupted") != std::string::npos);
}

RANKED_TEST(updates_outside_of_the_table_write_nothing, 1) {
  std::vector<std::uint64_t> words(102, 5);
  const updates::Part part{words.data() + 1, 50, 100, 255};
  std::vector<std::uint64_t> stray;
  for (std::uint64_t update = 0; update < 256; ++update)
    if (update < 50 || update >= 150) stray.push_back(update | std::uint64_t{1} << 63);
  updates::Tally tally;
  updates::apply(part, stray, tally);
  EXPECT(tally.strayed == 156);
  EXPECT(std::ranges::count(words, 5) == 102);
}
