// Tests that fail on purpose, each in another way; tests/native/test_native.py checks their output.
#include <stdexcept>

#include "ranked_test.hpp"

RANKED_TEST(fails_on_the_last_rank, 1, 2) {
  const int rank = world.rank;
  EXPECT(rank != world.size - 1);
}

RANKED_TEST(checks_nothing, 1, 2) {}

RANKED_TEST(throws_on_rank_0, 1, 2) {
  EXPECT(true);
  if (world.rank == 0) throw std::runtime_error("out of ideas");
}

RANKED_TEST(passes, 1) { EXPECT(1 + 1 == 2); }
RANKED_TEST(waits_for_nobody, 2) {
  if (world.rank == 0) MPI_Barrier(world.comm);
}
