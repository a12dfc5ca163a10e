#include "bench/threads/team.hpp"

#include <atomic>
#include <set>

#include "ranked_test.hpp"

using namespace kiviat;

RANKED_TEST(a_team_does_each_task_once_on_each_thread, 1) {
  for (const int threads : {1, 2, 5}) {
    Team team(threads);
    EXPECT(team.size() == threads);
    std::vector<int> done(threads, 0);
    std::vector<std::thread::id> where(threads);
    for (int task = 1; task <= 200; ++task) {
      team([&](int thread) { ++done[thread], where[thread] = std::this_thread::get_id(); });
      // The call has synchronised all threads: their results can be read without further synchronisation.
      for (const int each : done) EXPECT(each == task);
    }
    EXPECT(where[0] == std::this_thread::get_id());
    EXPECT(std::set(where.begin(), where.end()).size() == static_cast<std::size_t>(threads));
  }
}

RANKED_TEST(a_team_works_at_the_same_time, 1) {
  // Threads wait for each other: executed one after the other, they would deadlock.
  constexpr int threads = 4;
  Team team(threads);
  std::atomic<int> here = 0;
  team([&](int) {
    for (++here; here < threads;) std::this_thread::yield();
  });
  EXPECT(here == threads);
}
