#include "platform/clock.hpp"

#include "ranked_test.hpp"

using namespace kiviat;

RANKED_TEST(clock_never_goes_back, 1) {
  double last = clock::now();
  bool moved = false;
  for (int i = 0; i < 100'000; ++i) {
    const double t = clock::now();
    if (t < last) EXPECT(t >= last);
    moved = moved || t > last;
    last = t;
  }
  EXPECT(moved);
}

RANKED_TEST(cost_of_the_clock_is_plausible, 1) {
  const double cost_s = clock::cost();
  EXPECT(cost_s > 1e-10);
  EXPECT(cost_s < 1e-5);
  // Many readings take about as long as cost() says; load can only add time.
  constexpr int calls = 20'000;
  const double start = clock::now();
  for (int i = 0; i < calls; ++i) clock::now();
  EXPECT(clock::now() - start > 0.3 * calls * cost_s);
}

RANKED_TEST(waiting_ends_after_the_moment, 1) {
  const double due = clock::now() + 300e-6;
  const double reached = clock::wait_until(due);
  EXPECT(reached >= due);
  EXPECT(clock::now() >= reached);
  const double before = clock::now();
  EXPECT(clock::wait_until(before - 1) >= before);  // in the past: returns at once
}

RANKED_TEST(sleeping_ends_after_the_moment_and_takes_no_processor_time, 1) {
  const std::int64_t before_ns = clock::thread_ns();
  const double due = clock::now() + 50e-3;
  clock::sleep_until(due);
  EXPECT(clock::now() >= due);
  EXPECT(clock::thread_ns() - before_ns < 25'000'000);
  clock::sleep_until(due);  // in the past: returns at once
  EXPECT(clock::now() < due + 10);
}

RANKED_TEST(ranks_of_one_host_share_the_clock, 2, 4) {
  unsigned long mine = clock::domain(), first = mine;
  MPI_Bcast(&first, 1, MPI_UNSIGNED_LONG, 0, world.comm);
  EXPECT(mine == first);
}
