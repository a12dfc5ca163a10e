// Each rank's clock is fabricated from the common one: off by half a second per rank, and drifting. So true offsets are
// known at any time, and estimates are compared with them.
#include "platform/global_clock.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "helpers.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

// A clock that is `ahead_s` ahead at `epoch_s` and gains `drift` seconds per second; from `turning_s` on it gains
// `later_drift`.
struct Skew {
  double epoch_s, ahead_s, drift, turning_s, later_drift;
  double at(double true_s) const {
    const double before = std::min(true_s, turning_s) - epoch_s, after = std::max(0.0, true_s - turning_s);
    return true_s + ahead_s + drift * before + later_drift * after;
  }
};

Skew own{};  // global, because GlobalClock reads its clock through a plain function
double skewed() { return own.at(clock::now()); }

constexpr double drifts[] = {50e-6, -50e-6, 20e-6, -10e-6};
// Factor of tolerances: four ranks may share two processors, which makes estimates less accurate.
double magnified(int ranks) { return ranks > 2 ? 8 : 1; }
constexpr double never = std::numeric_limits<double>::infinity();

// Agrees on one epoch, so that every rank also knows rank 0's clock.
double common_epoch(MPI_Comm comm) {
  double epoch = clock::now();
  MPI_Bcast(&epoch, 1, MPI_DOUBLE, 0, comm);
  return epoch;
}

Skew skew_of(int which, double epoch_s, int ranks) {
  return {epoch_s, 0.5 * which, magnified(ranks) * drifts[which], never, 0};
}

// Largest deviation of any rank from rank 0's clock at this moment.
double disagreement(const GlobalClock& clock, const Skew& reference, MPI_Comm comm) {
  const double moment = clock::now();
  return maximum(std::abs(clock.to_global(own.at(moment)) - reference.at(moment)), comm);
}

void refresh_often(GlobalClock& clock, int times) {
  for (int i = 0; i < times; ++i) {
    usleep(25'000);
    clock.refresh(0);
  }
}

// Best of several attempts, because accuracy depends on the quickest round trip, which other programs can disturb.
template <class Attempt>
double best(Attempt attempt, double good_enough) {
  double least = never;
  for (int i = 0; i < 10 && least > good_enough; ++i) least = std::min(least, attempt());
  return least;
}

}  // namespace

RANKED_TEST(skewed_clocks_agree_and_go_on_agreeing, 2, 4) {
  const double tolerance_s = 5e-6 * magnified(world.size);
  const double off_s = best(
      [&] {
        const double epoch = common_epoch(world.comm);
        own = skew_of(world.rank, epoch, world.size);
        GlobalClock clock(world.comm, 1000 + world.rank, skewed);
        EXPECT(!clock.shared());
        refresh_often(clock, 15);
        const double now = disagreement(clock, skew_of(0, epoch, world.size), world.comm);
        usleep(300'000);  // an estimate without drift would be up to 30 µs off by now
        return std::max(now, disagreement(clock, skew_of(0, epoch, world.size), world.comm));
      },
      tolerance_s);
  EXPECT(off_s < tolerance_s);
}

RANKED_TEST(long_round_trips_do_not_count_as_offset, 2) {
  const double tolerance_s = 10e-6;
  const double off_s = best(
      [&] {
        const double epoch = common_epoch(world.comm);
        own = skew_of(world.rank, epoch, world.size);
        // Imitates a network with 40 µs latency: readings are that much later than the messages.
        GlobalClock clock(world.comm, 1000 + world.rank, [] {
          clock::wait_until(clock::now() + 40e-6);
          return skewed();
        });
        refresh_often(clock, 12);
        return disagreement(clock, skew_of(0, epoch, world.size), world.comm);
      },
      tolerance_s);
  EXPECT(off_s < tolerance_s);
}

RANKED_TEST(drift_is_known_soon_after_the_start, 2, 4) {
  // The story: estimates were renewed every 2 s, and drift was unknown until the second one, so the first cases of a
  // launch ran with clocks up to 200 µs apart.
  const double tolerance_s = 15e-6 * magnified(world.size);
  const double off_s = best(
      [&] {
        const double epoch = common_epoch(world.comm);
        own = skew_of(world.rank, epoch, world.size);
        GlobalClock clock(world.comm, 1000 + world.rank, skewed);
        for (int i = 0; i < 40; ++i) {  // cases of 20 ms, each with the refresh that the runner makes
          usleep(20'000);
          clock.refresh();
        }
        return disagreement(clock, skew_of(0, epoch, world.size), world.comm);
      },
      tolerance_s);
  EXPECT(off_s < tolerance_s);
}

RANKED_TEST(estimates_follow_a_drift_that_changes, 2) {
  const double tolerance_s = 5e-6;
  const double off_s = best(
      [&] {
        const double epoch = common_epoch(world.comm), turning = epoch + 0.25;
        const auto skew = [&](int which) {
          return Skew{epoch, 0.5 * which, drifts[which], turning, -3 * drifts[which]};
        };
        own = skew(world.rank);
        GlobalClock clock(world.comm, 1000 + world.rank, skewed);
        refresh_often(clock, 32);  // the fit uses 16 estimates, so none from before the change of drift remains
        usleep(100'000);
        return disagreement(clock, skew(0), world.comm);
      },
      tolerance_s);
  EXPECT(off_s < tolerance_s);
}

RANKED_TEST(ranks_of_one_domain_need_no_estimate, 1, 2, 4) {
  own = skew_of(0, common_epoch(world.comm), world.size);
  GlobalClock clock(world.comm, 77, skewed);
  clock.refresh(0);
  EXPECT(clock.shared());
  for (const double t : {0.0, 1e-9, 12345.678, 1e9}) {
    EXPECT(clock.to_global(t) == t);
    EXPECT(clock.to_local(t) == t);
  }
}

RANKED_TEST(ranks_of_a_domain_have_its_leaders_estimate, 4) {
  // Two nodes of two ranks, blocked and cyclic.
  for (const bool cyclic : {false, true}) {
    const int node = cyclic ? world.rank % 2 : world.rank / 2;
    const double off_s = best(
        [&] {
          const double epoch = common_epoch(world.comm);
          own = skew_of(node, epoch, world.size);
          GlobalClock clock(world.comm, 500 - node, skewed);
          refresh_often(clock, 12);
          // Rank 0 and the ranks of its node read the global time directly.
          if (node == 0) EXPECT(clock.to_global(1.0) == 1.0);
          return disagreement(clock, skew_of(0, epoch, world.size), world.comm);
        },
        40e-6);
    EXPECT(off_s < 40e-6);
  }
}

RANKED_TEST(to_local_is_the_inverse_of_to_global, 2) {
  own = skew_of(world.rank, common_epoch(world.comm), world.size);
  GlobalClock clock(world.comm, 1000 + world.rank, skewed);
  refresh_often(clock, 12);
  for (const double ahead : {-1.0, 0.0, 1e-5, 3.0}) {
    const double local = skewed() + ahead;
    EXPECT(std::abs(clock.to_local(clock.to_global(local)) - local) < 1e-9);
  }
}

RANKED_TEST(estimates_are_renewed_when_old_only, 2) {
  own = skew_of(world.rank, common_epoch(world.comm), world.size);
  GlobalClock clock(world.comm, 1000 + world.rank, skewed);
  refresh_often(clock, 10);
  const double moment = skewed(), before = clock.to_global(moment);
  clock.refresh(3600);
  EXPECT(clock.to_global(moment) == before);
  clock.refresh(0);
  if (world.rank == 1) EXPECT(clock.to_global(moment) != before);
}
