// The samplers from end to end, with operations of known cost and known faults.
#include "measure/trial.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <utility>

#include "driver/runner.hpp"
#include "helpers.hpp"
#include "platform/clock.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

using Words = std::map<std::string, std::string, std::less<>>;

void spin(double seconds) { clock::wait_until(clock::now() + seconds); }

Benchmark fabricated(Traits traits = {}) {
  traits.ranks = at_least(1);
  return {"fabricated", "tests/fabricated", nullptr, std::move(traits)};
}

// Runs `body` as a benchmark; the message of an exception becomes the reason.
Result run_trial(Session& session, const Words& words, const std::function<void(Trial&)>& body,
                 const Traits& traits = {.sampling = Sampling::per_call}) {
  const Case spec{"fabricated/case", "fabricated", words};
  const Benchmark benchmark = fabricated(traits);
  Result result;
  try {
    Trial trial(spec, benchmark, session, session.world);
    body(trial);
    result = trial.take_result();
  } catch (const Skip& why) {
    result.outcome = "skipped", result.reason = why.what();
  } catch (const UsageError& why) {
    result.outcome = "refused", result.reason = why.what();
  }
  return result;
}

std::string said(const Result& result) { return result.outcome + ": " + result.reason.value_or("-"); }

std::string stopped_by(const Result& result) { return result.stopped_by.value_or("-"); }

Summary of(const Result& result, const char* metric) {
  const Metric* found = result.metric(metric);
  return found ? result.summary(*found) : Summary{};
}

// A correct benchmark: each rank sends its payload to the next.
struct Ring {
  explicit Ring(Trial& t)
      : trial(t),
        out(t.buffer(t.bytes())),
        in(t.buffer(t.bytes())),
        next((t.rank() + 1) % t.ranks()),
        last((t.rank() + t.ranks() - 1) % t.ranks()) {
    t.sends(out);
    t.expects(in, {{0, out.first().size(), last}});
  }
  void operator()(std::int64_t) {
    MPI_Sendrecv(out.next(), trial.count(), MPI_BYTE, next, 0, in.next(), trial.count(), MPI_BYTE, last, 0,
                 trial.comm(), MPI_STATUS_IGNORE);
  }
  Trial& trial;
  Buffer &out, &in;
  int next, last;
};

}  // namespace

// --- participating ranks, and reasons to skip --------------------------------------------------------

RANKED_TEST(too_few_ranks_skip_on_all_ranks_alike, 1, 2) {
  Session session(world.comm);
  for (const Words& words : {Words{{"ranks", "8"}}, Words{{"ranks", "2"}, {"distance", "5"}},
                             Words{{"ranks", "65537"}, {"distance", "65537"}}}) {
    const Result result = run_case({"id", "pingpong", words}, session);
    EXPECT(result.outcome == "skipped");
    EXPECT(same_everywhere(said(result), world.comm));
  }
  EXPECT(contains(said(run_case({"id", "pingpong", {{"ranks", "8"}}}, session)), "needs 8 ranks, but the launch has"));
}

RANKED_TEST(a_single_rank_skips_what_needs_more, 1) {
  // The story: for benchmarks of pairs, a single rank was rounded down to 0 ranks, and the reason named ranks and
  // distance instead of the number of ranks needed.
  Session session(world.comm);
  for (const Benchmark& benchmark : benchmarks()) {
    if (benchmark.traits.ranks.allows(1)) continue;
    const Result result = run_case({"id", benchmark.name, {}}, session);
    EXPECT(result.outcome == "skipped");
    EXPECT(contains(said(result), "needs"));
  }
}

RANKED_TEST(what_makes_no_sense_fails_on_all_ranks_alike, 2) {
  Session session(world.comm);
  const auto reason = [&](const char* benchmark, const Words& words) {
    const Result result = run_case({"id", benchmark, words}, session);
    EXPECT(result.outcome == "failed");
    EXPECT(result.phase.value_or("-") == "setup");
    EXPECT(result.check == "not run");
    EXPECT(result.metrics.empty());
    EXPECT(same_everywhere(said(result), world.comm));
    return said(result);
  };
  EXPECT(contains(reason("pingpog", {}), "did you mean 'pingpong'?"));
  EXPECT(contains(reason("pingpong", {{"flavour", "3"}}), "no axis 'flavour'"));
  EXPECT(contains(reason("pingpong", {{"cache", "cold"}}), "give one of hot, off"));
  EXPECT(contains(reason("pingpong", {{"bytes", "many"}}), "'many'"));
  EXPECT(contains(reason("pingpong", {{"bytes", "-1"}}), "negative"));
  for (const char* bytes : {"many", "-8", ""}) EXPECT(!run_case({"id", "pingpong", {{"bytes", bytes}}}, session).bytes);
  EXPECT(contains(reason("pingpong", {{"mode", "fast"}}), "adaptive, fixed, once or pallas2"));
  EXPECT(contains(reason("allreduce", {{"sync", "luck"}}), "window or barrier"));
  EXPECT(contains(reason("pingpong", {{"ranks", "0"}}), "ranks=0: give 1 to"));
  EXPECT(contains(reason("pingpong", {{"ranks", "2"}, {"group", "3"}}), "group=3 does not divide 2 ranks"));
  // 4294967298 truncated to 32 bits would be 2.
  EXPECT(contains(reason("pingpong", {{"ranks", "4294967298"}}), "give 1 to 2147483647"));
  EXPECT(contains(reason("pingpong", {{"group", "4294967298"}}), "give 0 to 2147483647"));
  for (const char* benchmark : {"pingpong", "allreduce", "iallreduce"}) {
    EXPECT(contains(reason(benchmark, {{"mode", "fixed"}, {"iterations", "0"}, {"bytes", "8"}}), "iterations"));
    EXPECT(contains(reason(benchmark, {{"mode", "fixed"}, {"iterations", "-3"}, {"bytes", "8"}}), "iterations"));
    EXPECT(contains(reason(benchmark, {{"mode", "fixed"}, {"warmup", "-3"}, {"bytes", "8"}}), "warmup"));
  }
}

RANKED_TEST(memory_missing_on_one_rank_skips_on_all, 1, 2, 4) {
  Session session(world.comm);
  bool called = false;
  const Result result = run_trial(session, {{"bytes", "8"}}, [&](Trial& t) {
    t.buffer(world.rank == world.size - 1 ? std::size_t{1} << 50 : 8);
    t.per_call([&](std::int64_t) { called = true; });
  });
  EXPECT(result.outcome == "skipped");
  EXPECT(contains(said(result), "do not fit into the available memory"));
  EXPECT(contains(said(result), std::to_string(std::size_t{1} << 50)));
  EXPECT(!called);
  EXPECT(same_everywhere(said(result), world.comm));
}

RANKED_TEST(results_name_benchmark_ranks_and_size, 2) {
  Session session(world.comm);
  const Words quick = {{"mode", "fixed"}, {"iterations", "1"}};
  Words sized = quick;
  sized["bytes"] = "16";
  const Result latency = run_case({"id", "osu_latency", sized}, session);
  EXPECT(latency.benchmark == "pingpong");
  EXPECT(latency.ranks == 2);
  EXPECT(latency.bytes == 16);
  EXPECT(!run_case({"id", "barrier", quick}, session).bytes);
}

RANKED_TEST(messages_beyond_an_mpi_count_are_skipped, 2) {
  Session session(world.comm);
  const Result result = run_case({"id", "pingpong", {{"bytes", "3000000000"}}}, session);
  EXPECT(contains(said(result), "skipped: 3000000000 B exceed"));
}

RANKED_TEST(sizes_that_are_no_whole_number_of_elements_are_skipped, 2) {
  Session session(world.comm);
  const Result result = run_case({"id", "allreduce", {{"bytes", "6"}}}, session);
  EXPECT(contains(said(result), "skipped: bytes=6 is not a multiple of the element size, 4 B"));
}

RANKED_TEST(idle_ranks_wait_for_those_that_take_part, 4) {
  Session session(world.comm);
  const Words quick = {{"mode", "fixed"}, {"iterations", "5"}, {"bytes", "64"}};
  Words two = quick, far = quick;
  two["ranks"] = "2", far["distance"] = "3";
  for (const Words& words : {two, far, quick}) {
    const Result result = run_case({"id", "pingpong", words}, session);
    EXPECT(result.ranks == 2);
    if (world.rank == 0) EXPECT(said(result) == "ok: -");
    if (world.rank == 0) EXPECT(result.check == "passed");
    if (world.rank == 2) EXPECT(result.metrics.empty());
    // Rank 1 takes part; with a distance of 3, the second member is rank 3 instead.
    const int other = words.count("distance") ? 3 : 1;
    if (world.rank == other) EXPECT(result.check == "passed");
  }
}

RANKED_TEST(groups_run_at_once_and_apart, 4) {
  Session session(world.comm);
  int ranks = 0, rank = -1, sum = 0;
  const Result result =
      run_trial(session, {{"group", "2"}, {"bytes", "16"}, {"mode", "fixed"}, {"iterations", "3"}}, [&](Trial& t) {
        ranks = t.ranks(), rank = t.rank();
        MPI_Allreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, t.comm());
        Ring ring(t);
        t.per_call(ring);
      });
  EXPECT(ranks == 2);
  EXPECT(rank == world.rank % 2);
  EXPECT(sum == (world.rank < 2 ? 0 + 1 : 2 + 3));
  EXPECT(said(result) == "ok: -");
  EXPECT(result.check == "passed");
  const Result both = run_case({"id", "pingpong", {{"group", "2"}, {"bytes", "16"}, {"mode", "fixed"}}}, session);
  EXPECT(both.ranks == 4);
  EXPECT(both.check == "passed");
}

RANKED_TEST(the_slowest_group_counts, 4) {
  Session session(world.comm);
  for (const bool batched : {true, false}) {
    const Result result = run_trial(
        session, {{"group", "2"}, {"mode", "fixed"}, {"iterations", "5"}, {"sync", "barrier"}}, [&](Trial& t) {
          const auto operation = [&](std::int64_t) { spin(world.rank < 2 ? 0 : 200e-6); };
          batched ? t.batched(operation) : t.per_call(operation);
        });
    if (world.rank == 0) EXPECT(*of(result, "time").min >= 200e-6);
  }
}

// The clocks of the second half of the ranks are a millisecond behind, unknown to their ranks.
double behind_s = 0;
double behind() { return clock::now() - behind_s; }

RANKED_TEST(times_of_groups_do_not_depend_on_the_clocks_of_others, 4) {
  behind_s = world.rank < 2 ? 0 : 1e-3;
  Session session(world.comm, static_cast<unsigned long>(world.rank), behind);
  const Result result = run_trial(
      session, {{"group", "2"}, {"report", "all"}, {"mode", "fixed"}, {"iterations", "20"}, {"sync", "barrier"}},
      [&](Trial& t) { t.per_call([&](std::int64_t) { spin(50e-6); }); });
  if (world.rank != 0) return;
  EXPECT(*of(result, "time").p50 >= 50e-6);
  EXPECT(*of(result, "time").min < 1e-3);
  EXPECT(*of(result, "time").p50 >= *of(result, "time_group_0").p50);
}

RANKED_TEST(clocks_are_compared_again_within_a_case, 2, 4) {
  Session session(world.comm, static_cast<unsigned long>(world.rank));  // each rank has a clock of its own
  const double begun_s = clock::now();
  const Result result = run_trial(session, {{"budget_s", "1"}, {"target", "0"}, {"max_samples", "1000000"}},
                                  [&](Trial& t) { t.per_call([&](std::int64_t) { spin(100e-6); }); });
  const double ended_s = clock::now();
  EXPECT(said(result) == "ok: -");
  EXPECT(ended_s - session.global_clock.last_s() < 0.6 * (ended_s - begun_s));
  if (world.size == 4)  // and if other ranks wait
    EXPECT(run_case({"id", "barrier", {{"ranks", "2"}, {"budget_s", "0.2"}}}, session).outcome == "ok");
}

RANKED_TEST(groups_of_any_number_follow_the_rule_of_the_benchmark, 2) {
  Session session(world.comm);
  const Result result = run_case({"id", "bt", {{"group", "1"}, {"class", "S"}}}, session);
  EXPECT(result.ranks == 2);  // two groups, although BT runs on squares of numbers
  EXPECT(said(result) == "ok: -");
}

// --- payload checks ----------------------------------------------------------------------------------

RANKED_TEST(what_arrives_passes, 1, 2, 4) {
  Session session(world.comm);
  for (const char* bytes : {"1", "7", "4096", "100000"})
    for (const char* cache : {"hot", "off"}) {
      if (session.cache_bytes > (4 << 20)) session.cache_bytes = 4 << 20;
      const Result result = run_trial(
          session, {{"bytes", bytes}, {"cache", cache}, {"mode", "fixed"}, {"iterations", "3"}}, [&](Trial& t) {
            Ring ring(t);
            t.batched(ring);
          });
      EXPECT(result.check == "passed");
      EXPECT(result.outcome == "ok");
    }
}

RANKED_TEST(what_goes_wrong_on_one_rank_is_known_to_all, 1, 2, 4) {
  Session session(world.comm);
  const int victim = world.size - 1;
  const Result result = run_trial(session, {{"bytes", "100"}, {"mode", "fixed"}, {"iterations", "3"}}, [&](Trial& t) {
    Ring ring(t);
    t.batched([&](std::int64_t call) {
      ring(call);
      if (world.rank == victim) ring.in.first()[41] ^= std::byte{4};
    });
  });
  EXPECT(result.outcome == "failed");
  EXPECT(result.phase.value_or("-") == "check");
  EXPECT(result.check == "failed");
  const int sender = (victim + world.size - 1) % world.size;
  EXPECT(said(result) == "failed: rank " + std::to_string(victim) + ": byte 41 of 100 from rank " +
                             std::to_string(sender) + " is wrong");
  if (world.rank == 0) EXPECT(of(result, "time").count > 0);  // kept for diagnosis
}

RANKED_TEST(what_goes_wrong_after_the_first_check_is_found_by_the_second, 2) {
  Session session(world.comm);
  const Result result = run_trial(session, {{"bytes", "100"}, {"mode", "fixed"}, {"iterations", "3"}}, [&](Trial& t) {
    Ring ring(t);
    int calls = 0;
    t.batched([&](std::int64_t call) {
      if (++calls < 10) ring(call);  // from the tenth call on no message is sent
    });
  });
  EXPECT(result.check == "failed");
  EXPECT(contains(said(result), "failed: rank 0: byte 0 of 100 from rank 1"));
}

RANKED_TEST(studies_check_once_more_when_they_have_ended, 2) {
  Session session(world.comm);
  for (const bool breaks : {false, true}) {
    bool broken = false;
    const Result result = run_trial(session, {{"bytes", "64"}},
                                    [&](Trial& t) {
                                      Ring ring(t);
                                      t.study([&] {
                                        t.verify_twice([&](std::int64_t call) {
                                          if (!broken) ring(call);  // else no message is sent
                                        });
                                        t.report("time", 1);
                                        broken = breaks;
                                      });
                                    },
                                    {.sampling = Sampling::study, .reports = {{"time", "s", "lower"}}});
    EXPECT(result.check == (breaks ? "failed" : "passed"));
  }
}

RANKED_TEST(sums_are_checked, 2, 4) {
  Session session(world.comm);
  const auto check = [&](int addends) {
    return run_trial(session, {{"bytes", "64"}, {"mode", "fixed"}, {"iterations", "2"}}, [&](Trial& t) {
      Buffer &in = t.buffer(64), &out = t.buffer(64);
      t.contributes(in, 16);
      t.expects_sum(out, 16);
      t.per_call([&](std::int64_t) {
        std::vector<float> mine(16);
        if (t.rank() < addends) std::copy_n(reinterpret_cast<float*>(in.next()), 16, mine.data());
        MPI_Allreduce(mine.data(), out.next(), 16, MPI_FLOAT, MPI_SUM, t.comm());
      });
    });
  };
  EXPECT(check(world.size).check == "passed");
  const Result without_last = check(world.size - 1);
  EXPECT(without_last.check == "failed");
  EXPECT(contains(said(without_last), "is not the sum over the ranks"));
}

RANKED_TEST(without_payload_there_is_no_check, 2) {
  Session session(world.comm);
  const Result result = run_trial(session, {{"bytes", "0"}, {"mode", "fixed"}, {"iterations", "2"}}, [&](Trial& t) {
    Ring ring(t);
    t.batched(ring);
  });
  EXPECT(result.check == "not run");
  EXPECT(result.check_reason.value_or("-") == "no payload");
  EXPECT(result.outcome == "ok");
}

RANKED_TEST(a_barrier_that_does_not_wait_is_found, 2, 4) {
  Session session(world.comm);
  const auto check = [&](bool waits) {
    return run_trial(session, {{"mode", "fixed"}, {"iterations", "2"}},
                     [&](Trial& t) {
                       const auto operation = [&] {
                         if (waits) MPI_Barrier(t.comm());
                       };
                       t.check_by([&] { return t.separates(operation); });
                       t.per_call([&](std::int64_t) { operation(); });
                     },
                     {.sampling = Sampling::per_call, .sized = false})
        .check;
  };
  EXPECT(check(true) == "passed");
  EXPECT(check(false) == "failed");
}

RANKED_TEST(barriers_are_seen_to_wait_for_ranks_of_all_nodes, 1) {
  for (const int ranks : {1, 2, 3, 4}) EXPECT(late_ranks(ranks, 1).size() == static_cast<std::size_t>(ranks));
  for (const int ranks : {5, 8, 100, 16'384})
    for (const std::uint64_t seed : {0, 1, 7}) {
      const std::set<int> late = late_ranks(ranks, seed);
      EXPECT(late.size() <= 4);
      for (const int rank : {0, ranks / 2, ranks - 1}) EXPECT(late.contains(rank));
      EXPECT(*late.rbegin() < ranks);
    }
}

RANKED_TEST(windows_are_equally_large_if_caches_are_not, 2) {
  Session session(world.comm);
  session.cache_bytes = world.rank == 0 ? 4 << 20 : 1 << 18;
  for (const char* benchmark : {"put", "get"}) {
    const Words words{{"cache", "off"}, {"bytes", "65536"}, {"mode", "fixed"}, {"iterations", "200"}};
    EXPECT(said(run_case({"id", benchmark, words}, session)) == "ok: -");
  }
}

// --- number and duration of samples ---------------------------------------------------------------

RANKED_TEST(batches_outlast_the_clock, 1, 2) {
  Session session(world.comm);
  const Result result =
      run_trial(session, {{"budget_s", "0.3"}}, [](Trial& t) { t.batched([](std::int64_t) { asm volatile(""); }); });
  if (world.rank != 0) return;
  EXPECT(said(result) == "ok: -");
  EXPECT(result.sync == "batched");
  EXPECT(*of(result, "time").p50 * static_cast<double>(*result.batch) >= 100 * result.clock_cost_s);
  EXPECT(!of(result, "time").p90);
}

RANKED_TEST(one_slow_call_does_not_shorten_the_batches, 1) {
  // The story: a rank was preempted while the batch length was determined, so a batch of a few calls looked long
  // enough. Reading the clock then took longer than the batch.
  Session session(world.comm);
  int calls = 0;
  const Result result = run_trial(session, {}, [&](Trial& t) {
    t.batched([&](std::int64_t) {
      if (++calls == 2) spin(10e-3);
    });
  });
  EXPECT(*of(result, "time").p50 * static_cast<double>(*result.batch) >= 100 * result.clock_cost_s);
}

RANKED_TEST(long_operations_are_not_batched, 1) {
  Session session(world.comm);
  const Result result =
      run_trial(session, {{"budget_s", "0.05"}}, [](Trial& t) { t.batched([](std::int64_t) { spin(1e-3); }); });
  EXPECT(*result.batch == 1);
  EXPECT(*of(result, "time").min >= 1e-3);
}

RANKED_TEST(fixed_mode_makes_the_calls_it_was_told, 1, 2, 4) {
  Session session(world.comm);
  const Words words = {{"mode", "fixed"}, {"iterations", "37"}, {"warmup", "5"}, {"sync", "barrier"}, {"bytes", "8"}};
  int calls = 0;
  std::int64_t highest = -1;
  const auto count = [&](std::int64_t call) { ++calls, highest = std::max(highest, call); };
  const auto run = [&](const Words& with, auto sample) {
    calls = 0, highest = -1;
    return run_trial(session, with, sample);
  };

  Result result = run(words, [&](Trial& t) { t.per_call(count); });
  EXPECT(calls == 5 + 1 + 37);  // one untimed call reloads the caches after the bookkeeping
  EXPECT(highest == 41);        // calls are numbered consecutively, so that roots rotate
  EXPECT(result.sync == "barrier");
  EXPECT(stopped_by(result) == "fixed");
  if (world.rank == 0) EXPECT(of(result, "time").count == 37);

  result = run(words, [&](Trial& t) { t.batched(count); });
  EXPECT(calls == 5 + 37);
  EXPECT(*result.batch == 37);
  if (world.rank == 0) EXPECT(of(result, "time").count == 1);

  run(words, [&](Trial& t) { t.batched(count, {.initiator = true}); });
  EXPECT(calls == 5 + 1 + 37);  // one, untimed, absorbs the skew of the barrier

  Words back_to_back = words;
  back_to_back["mode"] = "pallas2";
  result = run(back_to_back, [&](Trial& t) { t.per_call(count); });
  EXPECT(calls == 5 + 37);
  EXPECT(result.sync == "back-to-back");
  EXPECT(result.mode == "pallas2");
  if (world.rank == 0) EXPECT(of(result, "time").count == 1);

  // With payload there is one more call before and after, for the check.
  run(words, [&](Trial& t) {
    Ring ring(t);
    t.per_call([&, ring](std::int64_t call) mutable { ring(call), count(call); });
  });
  EXPECT(calls == 1 + 5 + 1 + 37 + 1);

  Words no_warmup = words;
  no_warmup["warmup"] = "0";
  run(no_warmup, [&](Trial& t) { t.per_call(count); });
  EXPECT(calls == 1 + 37);
}

RANKED_TEST(fixed_mode_repeats_missed_windows, 2) {
  Session session(world.comm);
  int calls = 0;
  const Result result =
      run_trial(session, {{"mode", "fixed"}, {"iterations", "40"}, {"warmup", "3"}, {"sync", "window"}},
                [&](Trial& t) { t.per_call([&](std::int64_t) { ++calls, spin(5e-6); }); });
  const long missed = result.missed_windows.value_or(-1);
  EXPECT(missed >= 0);
  const long untimed = calls - (3 + 40 + missed);  // one in each round
  EXPECT(untimed >= 1);
  EXPECT(untimed <= 1 + missed);
  if (world.rank == 0) EXPECT(of(result, "time").count == 40);
}

// The length of windows was not estimated, so calls of more than some microseconds missed every start.
RANKED_TEST(windows_need_no_warm_up, 1, 2) {
  Session session(world.comm);
  int calls = 0;
  const Result result =
      run_trial(session, {{"mode", "fixed"}, {"iterations", "10"}, {"warmup", "0"}, {"sync", "window"}},
                [&](Trial& t) { t.per_call([&](std::int64_t) { ++calls, spin(20e-3); }); });
  EXPECT(result.sync == (session.oversubscribed ? "barrier" : "window"));
  EXPECT(calls >= 1 + 1 + 10);
  if (world.rank == 0) EXPECT(of(result, "time").count == 10);
}

RANKED_TEST(adaptive_mode_says_why_it_stopped, 1, 2) {
  Session session(world.comm);
  const auto stop = [&](Words words, double seconds) {
    words.try_emplace("sync", "barrier");
    // Calls of two durations, so that the interval of the median has a width.
    return run_trial(session, words,
                     [&](Trial& t) { t.per_call([&](std::int64_t i) { spin(seconds * (1 + 0.3 * (i % 2))); }); });
  };
  Result result = stop({{"target", "0.5"}, {"budget_s", "5"}}, 50e-6);
  if (world.rank == 0) EXPECT(stopped_by(result) == "target");
  if (world.rank == 0) EXPECT(of(result, "time").count >= 16);

  result = stop({{"target", "0"}, {"min_samples", "20"}, {"max_samples", "50"}, {"budget_s", "5"}}, 10e-6);
  if (world.rank == 0) EXPECT(stopped_by(result) == "samples");
  if (world.rank == 0) EXPECT(of(result, "time").count == 50);

  // Even a target of 0 can be met, by equal samples in the middle, but min_samples always holds.
  result = stop({{"min_samples", "100000000"}, {"max_samples", "100000000"}, {"budget_s", "0.05"}}, 10e-6);
  if (world.rank == 0) EXPECT(stopped_by(result) == "budget");
  EXPECT(result.elapsed_s >= 0.05);
  EXPECT(result.elapsed_s < 2);
}

RANKED_TEST(rank_0_alone_times_a_round_trip, 2) {
  Session session(world.comm);
  const auto time = [&](bool initiator) {
    const Result result = run_trial(session, {{"budget_s", "0.1"}}, [&](Trial& t) {
      t.batched([&](std::int64_t) { spin(t.rank() == 0 ? 1e-6 : 300e-6); }, {.initiator = initiator});
    });
    return of(result, "time").p50.value_or(0);
  };
  const double alone = time(true), slowest = time(false);
  if (world.rank == 0) EXPECT(alone < 150e-6);
  if (world.rank == 0) EXPECT(slowest >= 300e-6);
}

RANKED_TEST(rates_derive_from_time, 1) {
  Session session(world.comm);
  const Result result =
      run_trial(session, {{"bytes", "1000"}, {"mode", "fixed"}, {"iterations", "10"}},
                [&](Trial& t) { t.batched([](std::int64_t) { spin(100e-6); }, {.divisor = 4, .messages = 3}); },
                {.bandwidth = true, .message_rate = true});
  const double time = *of(result, "time").p50;
  EXPECT(time >= 25e-6);
  EXPECT(std::abs(*of(result, "bandwidth").p50 * time / 3000 - 1) < 1e-9);
  EXPECT(std::abs(*of(result, "message_rate").p50 * time / 3 - 1) < 1e-9);
}

// --- common starts ----------------------------------------------------------------------------------

RANKED_TEST(calls_start_in_windows_where_ranks_have_processors, 2) {
  Session session(world.comm);
  if (session.oversubscribed) {
    EXPECT(session.size > 1);
    return;
  }
  // On a busy machine ranks may miss windows and rightly fall back to barriers, so one good attempt of several
  // suffices.
  Result result;
  int good = 0;
  for (int attempt = 0; attempt < 30 && !good; ++attempt) {
    result = run_trial(session, {{"budget_s", "0.1"}},
                       [&](Trial& t) { t.per_call([&](std::int64_t) { spin(t.rank() == 0 ? 50e-6 : 150e-6); }); });
    // Rank 0 leaves 50 µs after the common start, rank 1 150 µs after it.
    good = result.sync == "window" && of(result, "time").p50.value_or(1) < 250e-6 &&
           of(result, "time_rank_min").p50.value_or(1) < 150e-6 &&
           of(result, "time_rank_mean").p50.value_or(1) < 200e-6;
    MPI_Bcast(&good, 1, MPI_INT, 0, world.comm);
  }
  EXPECT(good == 1);
  EXPECT(result.missed_windows.has_value());
  if (world.rank != 0) return;
  EXPECT(*of(result, "time").min >= 150e-6);
  EXPECT(*of(result, "time_rank_min").min >= 50e-6);
  EXPECT(*of(result, "time_rank_max").min >= 150e-6);
  EXPECT(*of(result, "time_rank_mean").min >= 100e-6);
  EXPECT(of(result, "time").p99.has_value());
}

RANKED_TEST(calls_start_at_a_barrier_when_asked_or_oversubscribed, 1, 2, 4) {
  Session session(world.comm);
  const auto run = [&](const char* sync) {
    return run_trial(session, {{"sync", sync}, {"budget_s", "0.05"}},
                     [&](Trial& t) { t.per_call([](std::int64_t) { spin(20e-6); }); });
  };
  const Result asked = run("barrier");
  EXPECT(asked.sync == "barrier");
  EXPECT(!asked.missed_windows);
  session.oversubscribed = true;
  const Result forced = run("window");
  EXPECT(forced.sync == "barrier");
  EXPECT(forced.missed_windows.value_or(-1) == 0);
}

// Links of an emulated cluster refill their token buckets before each call, after a start at a barrier, too, and if
// ranks share processors.
RANKED_TEST(calls_leave_links_time_to_refill, 1) {
  Session session(world.comm);
  constexpr double refill_s = 2e-3;
  const auto shortest_rest_s = [&](const char* sync) {
    double ended_s = 0, shortest_s = INFINITY;
    int calls = 0;
    run_trial(session, {{"sync", sync}, {"mode", "fixed"}, {"iterations", "10"}, {"warmup", "1"}}, [&](Trial& t) {
      t.per_call([&](std::int64_t) {
        if (++calls > 2) shortest_s = std::min(shortest_s, clock::now() - ended_s);  // not warm-up and untimed call
        spin(20e-6);
        ended_s = clock::now();
      });
    });
    return calls == 12 ? shortest_s : 0;  // a repeated block has another untimed call
  };
  for (const auto& [sync, oversubscribed] : {std::pair{"window", false}, {"barrier", false}, {"window", true}}) {
    session.oversubscribed = oversubscribed;
    setenv("KIVIAT_REFILL", "0.002", 1);
    double rest_s = 0;
    for (int attempt = 0; attempt < 30 && rest_s < refill_s; ++attempt) rest_s = shortest_rest_s(sync);
    unsetenv("KIVIAT_REFILL");
    EXPECT(rest_s >= refill_s);
    EXPECT(shortest_rest_s(sync) < refill_s);
  }
}

RANKED_TEST(windows_that_are_too_short_are_widened, 2) {
  Session session(world.comm);
  session.oversubscribed = false;
  const auto run = [&](double later_s) {
    int calls = 0;
    return run_trial(session, {{"budget_s", "10"}, {"target", "0"}, {"max_samples", "40"}}, [&](Trial& t) {
      // Only the first calls, which determine the window's length, are short.
      const double begun = clock::now();
      t.per_call([&, begun](std::int64_t) { spin(++calls < 4 || clock::now() - begun < 1e-3 ? 20e-6 : later_s); });
    });
  };
  Result widened;
  for (int attempt = 0; attempt < 30; ++attempt)
    if (widened = run(80e-6); widened.sync == "window") break;
  EXPECT(widened.sync == "window");
  EXPECT(*widened.missed_windows > 0);
  if (world.rank == 0) EXPECT(of(widened, "time").count > 0);

  Result hopeless;
  for (int attempt = 0; attempt < 8; ++attempt)
    if (hopeless = run(3e-3); hopeless.sync == "barrier") break;
  EXPECT(hopeless.sync == "barrier");
  EXPECT(*hopeless.missed_windows > 0);
  if (world.rank == 0) EXPECT(of(hopeless, "time").count == 40);  // with a budget of their own
  if (world.rank == 0) EXPECT(hopeless.outcome == "ok");
  if (world.rank == 0) EXPECT(*of(hopeless, "time").p50 >= 3e-3);
}

// Calls that began together and calls that began after a barrier are two quantities.
RANKED_TEST(calls_before_the_change_to_barriers_do_not_count, 1) {
  Session session(world.comm);
  session.oversubscribed = false;
  Result result;
  for (int attempt = 0; attempt < 30 && result.sync != "barrier"; ++attempt)
    result = run_trial(session, {{"mode", "fixed"}, {"iterations", "60"}}, [](Trial& t) {
      // Each block begins with an untimed call of the number of the first timed one. One call in three of the first
      // five blocks is longer than any window.
      t.per_call([blocks = 0, last = std::int64_t{-1}](std::int64_t call) mutable {
        blocks += call == last;
        last = call;
        spin(blocks > 5 ? 50e-6 : call % 3 ? 5e-6 : 300e-6);
      });
    });
  EXPECT(result.sync == "barrier");
  EXPECT(of(result, "time").count == 60);
  EXPECT(*of(result, "time").min >= 50e-6);
  EXPECT(*of(result, "time_rank_min").min >= 50e-6);
}

// --- overlap with computation -----------------------------------------------------------------------

RANKED_TEST(communication_in_the_caller_hides_nothing, 1, 2) {
  Session session(world.comm);
  Traits traits{.sampling = Sampling::overlapped, .axes = {progress_axis()}};
  const Result result = run_trial(
      session, {{"budget_s", "0.1"}},
      [&](Trial& t) {
        t.overlapped([&](std::int64_t) {
          spin(100e-6);  // the start of the operation does all the work instead of beginning it
          MPI_Request request = MPI_REQUEST_NULL;
          return request;
        });
      },
      traits);
  if (world.rank != 0) return;
  EXPECT(said(result) == "ok: -");
  EXPECT(*of(result, "time").min >= 100e-6);
  EXPECT(*of(result, "time_overlapped").min >= *of(result, "time").min);
  EXPECT(*of(result, "overlap").p50 < 40);
  EXPECT(*of(result, "overlap").min >= 0);
  EXPECT(*of(result, "overlap").max <= 100);
}

RANKED_TEST(overlapped_operations_have_a_time_for_each_group, 2) {
  Session session(world.comm);
  const Result result = run_trial(session, {{"group", "1"}, {"report", "all"}, {"mode", "fixed"}, {"iterations", "3"}},
                                  [&](Trial& t) {
                                    t.overlapped([&](std::int64_t) {
                                      spin(world.rank == 0 ? 0 : 200e-6);
                                      return MPI_REQUEST_NULL;
                                    });
                                  },
                                  {.sampling = Sampling::overlapped, .axes = {progress_axis()}});
  if (world.rank != 0) return;
  EXPECT(of(result, "time_group_0").count == 3);
  EXPECT(of(result, "time_group_1").count == 3);
  EXPECT(*of(result, "time_group_1").min >= 200e-6);
}

RANKED_TEST(overlapped_operations_are_checked_too, 2) {
  Session session(world.comm);
  Traits traits{.sampling = Sampling::overlapped, .axes = {progress_axis()}};
  for (const bool loses : {false, true}) {
    const Result result = run_trial(
        session, {{"bytes", "64"}, {"mode", "fixed"}, {"iterations", "3"}, {"progress", "2"}},
        [&](Trial& t) {
          Buffer& data = t.buffer(64);
          if (t.rank() == 0)
            t.sends(data);
          else
            t.expects(data, {{0, 64, 0}});
          t.overlapped([&](std::int64_t) {
            MPI_Request request;
            MPI_Ibcast(data.next(), loses ? 63 : 64, MPI_BYTE, 0, t.comm(), &request);
            return request;
          });
        },
        traits);
    EXPECT(result.check == (loses ? "failed" : "passed"));
    if (world.rank == 0) EXPECT(of(result, "time").count == 3);
  }
}
