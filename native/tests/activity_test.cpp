// Tests how processor time is divided between the ranks and other programs, with made-up readings.
#include "measure/activity.hpp"

#include <cmath>

#include "ranked_test.hpp"

using namespace kiviat;
using host::Reading;

namespace {

// Two ranks on a machine of two processors; the first reads the machine.
std::vector<Reading> readings(double at_s, double busy_s, double own_s, double helpers_s = 0, double waited_s = 0,
                              double steal_s = 0) {
  Reading first, second;
  first.kernel = second.kernel = 7;
  first.at_s = second.at_s = at_s;
  first.processors = 2, first.busy_s = busy_s, first.steal_s = steal_s, first.helpers_s = helpers_s;
  first.cpu_s = second.cpu_s = own_s / 2;
  second.wait_s = waited_s, second.switches = 10 * at_s;
  return {first, second};
}

bool close_to(double a, double b) { return std::abs(a - b) < 1e-9; }

}  // namespace

RANKED_TEST(time_of_ranks_and_launchers_is_not_that_of_others, 1) {
  ActivityHistory history(readings(0, 100, 0));
  const Activity quiet = history.add(readings(2, 104, 3.7, 0.3));
  EXPECT((close_to(quiet.others, 0) && close_to(quiet.elapsed_s, 2)));
  EXPECT((quiet.processors == 2 && quiet.switches == 20));
  // One processor of the two is used by something else for two seconds.
  const Activity busy = history.add(readings(4, 108, 5.5, 0.5));
  EXPECT(close_to(busy.others, 1.0));
}

RANKED_TEST(short_cases_are_seen_over_the_last_second, 1) {
  ActivityHistory history(readings(0, 0, 0));
  EXPECT(std::isnan(history.add(readings(0.1, 0.2, 0.1)).others));  // ten ticks say nothing
  for (int i = 2; i <= 20; ++i) history.add(readings(0.1 * i, 0.2 * i, 0.1 * i));
  const Activity last = history.add(readings(2.1, 4.2, 2.1));
  EXPECT((close_to(last.others, 1.0) && last.elapsed_s < 1.2));
  // A long case is seen over all of its time, and over no more.
  const Activity longer = history.add(readings(12.1, 24.2, 22.1));
  EXPECT((close_to(longer.others, 0) && close_to(longer.elapsed_s, 10)));
}

RANKED_TEST(waiting_counts_unless_ranks_outnumber_processors, 1) {
  ActivityHistory history(readings(0, 0, 0));
  EXPECT(close_to(history.add(readings(1, 1, 1, 0.1, 0.42)).wait, 0.3));  // but for what launchers used, and two ticks
  auto crowded = readings(0, 0, 0);
  crowded.push_back(crowded[1]);
  ActivityHistory of_three(crowded);
  crowded[2].wait_s = 1, crowded[0].at_s = 2;
  EXPECT(std::isnan(of_three.add(crowded).wait));
}

RANKED_TEST(the_worst_machine_counts, 1) {
  auto before = readings(0, 0, 0), after = readings(2, 4, 4), far = readings(50, 0, 0),
       later = readings(52, 4, 2, 0, 0, 1);
  for (auto* machine : {&far, &later})
    for (Reading& reading : *machine) reading.kernel = 8;
  before.insert(before.end(), far.begin(), far.end()), after.insert(after.end(), later.begin(), later.end());
  const Activity found = ActivityHistory(before).add(after);
  EXPECT((close_to(found.others, 1) && close_to(found.steal, 0.2)));
}

RANKED_TEST(this_machine_can_be_read, 1, 2, 4) {
  const Session session(MPI_COMM_WORLD);
  ActivityMeter meter(session);
  const std::string found = meter.next();
  if (session.rank == 0) EXPECT(found.find("\"involuntary_switches\":") != std::string::npos);
}
