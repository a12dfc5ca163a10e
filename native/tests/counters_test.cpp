// Hardware counters: fabricated ones, those of this machine, and missing ones.
#include "meters/counters.hpp"

#include <sys/resource.h>

#include <cmath>
#include <thread>

#include "helpers.hpp"
#include "instruments.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

// While enabled, counts per repetition 1000 instructions plus 100 for each lower rank, and multiplexed cycles.
class Fake final : public CounterSource {
 public:
  explicit Fake(int rank, double share = 1) : rank_(rank), share_(share) {}
  bool any() const override { return true; }
  std::string words() const override { return "perf: made up"; }
  void prepare() override { counted_ = 0; }
  void enable() override { ++counted_, ++enabled; }
  void disable() override { ++disabled; }
  Counts counts() override {
    Counts counts;
    counts[0] = {counted_ * (1000.0 + 100 * rank_), 1};
    counts[1] = {2000, share_};
    return counts;
  }
  void lead() override { leads_ = true; }
  std::optional<Traffic> traffic() override { return leads_ ? std::optional(Traffic{6e9, 3e9}) : std::nullopt; }
  int enabled = 0, disabled = 0;

 private:
  int rank_, counted_ = 0;
  double share_;
  bool leads_ = false;
};

double value(const Table* table, std::initializer_list<std::size_t> at) { return table ? Table(*table).at(at) : NAN; }

}  // namespace

RANKED_TEST(counters_are_told_by_kernel_and_rank, 1, 2, 4) {
  Session session(world.comm);
  auto owned = std::make_unique<Fake>(world.rank);
  Fake& fake = *owned;
  session.instruments.counters = std::move(owned);
  const Result result = studied(session, {{"watts", "1/node"}}, [&](Trial& t) {
    for (int repetition = 0; repetition < 3; ++repetition) t.measured("all", [] {});
    t.measured("one", [] {}, t.rank() != 0);
    EXPECT((fake.enabled == 4 && fake.disabled == 4) == true);
  });
  if (world.rank != 0) return;
  const Table *all = table_of(result, "counters"), *each = table_of(result, "counters_by_rank"),
              *traffic = table_of(result, "memory_traffic");
  EXPECT((all && each && traffic) == true);
  if (!all || !each || !traffic) return;
  EXPECT(all->axes[1].values == (std::vector<std::string>{"instructions", "cycles"}));
  EXPECT(value(all, {0, 0, 0}) == 1000);
  EXPECT(value(all, {0, 0, 1}) == 1000 + 50 * (world.size - 1));
  EXPECT(value(all, {0, 0, 2}) == 1000 + 100 * (world.size - 1));
  // Only rank 0 was busy in the second kernel.
  EXPECT(value(all, {1, 0, 2}) == 1000);
  for (std::size_t rank = 0; rank < world.size; ++rank) {
    EXPECT(value(each, {0, 0, rank}) == 1000 + 100. * rank);
    EXPECT(std::isnan(value(each, {1, 0, rank})) == (rank != 0));
  }
  EXPECT((value(traffic, {0, 0, 0}) == 6e9 && value(traffic, {0, 0, 1}) == 3e9) == true);
  EXPECT(note_of(result, "counters") == "perf: made up");
}

RANKED_TEST(counters_that_take_turns_are_named, 1) {
  Session session(world.comm);
  session.instruments.counters = std::make_unique<Fake>(0, 0.25);
  const Result result = studied(session, {{"watts", "1/node"}}, [](Trial& t) { t.measured("kernel", [] {}); });
  EXPECT(note_of(result, "counters") ==
         "perf: made up; counters were multiplexed: each ran at least 25 % of the time and was scaled");
}

RANKED_TEST(counters_of_this_machine_or_why_there_are_none, 1, 2) {
  Session session(world.comm);
  const Result result = studied(session, {{"watts", "1/node"}}, [](Trial& t) {
    t.measured("kernel", [] {
      volatile int sum = 0;
      for (int i = 0; i < 1'000'000; ++i) static_cast<void>(sum);
    });
  });
  if (world.rank != 0) return;
  const std::string words = note_of(result, "counters");
  if (words.starts_with("perf: ")) {
    EXPECT(value(table_of(result, "counters"), {0, 0, 1}) > 2e6);
  } else {
    EXPECT((table_of(result, "counters") == nullptr && table_of(result, "counters_by_rank") == nullptr) == true);
    EXPECT((contains(words, "unavailable: no hardware counters") ||
            contains(words, "unavailable: permission denied: ") ||
            contains(words, "unavailable: the kernel lacks perf_event_open")) == true);
  }
}

// The formats of the device map the raw events to a software event, which every machine counts.
RANKED_TEST(l2_misses_are_counted_on_x86, 1) {
  const auto counted = [](const std::string& processor) {
    const FakeRoot root;
    const std::string device = "sys/bus/event_source/devices/cpu/";
    root.write("proc/cpuinfo", processor), root.write(device + "type", "1");  // PERF_TYPE_SOFTWARE
    root.write(device + "format/event", "config:"), root.write(device + "format/umask", "config:0-0");
    const auto counters = open_counters(root.path);
    counters->prepare(), counters->enable();
    volatile int sum = 0;
    for (int i = 0; i < 1'000'000; ++i) sum = sum + 1;
    counters->disable();
    return counters->any() ? counters->counts()[8].value : NAN;
  };
  const std::string intel = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: ";
  const double zen = counted("vendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 49\n");
  if (std::isnan(zen)) {  // a kernel or a container that forbids perf_event_open
    const auto counters = open_counters();
    EXPECT(contains(counters->words(), "unavailable: "));
    return;
  }
  EXPECT(zen > 0);
  EXPECT(counted(intel + "85\nmodel name\t: Skylake\n") > 0);
  EXPECT(std::isnan(counted(intel + "62\n")) == true);  // Ivy Bridge-EP
}

// Uses a software event (task clock) as if it were a processor event, so opening, enabling, inheriting and reading
// events are tested on machines without a PMU.
RANKED_TEST(events_that_a_device_describes_are_counted, 1) {
  const FakeRoot root;
  const std::string device = "sys/bus/event_source/devices/armv8_pmuv3_0/",
                    memory = "sys/bus/event_source/devices/uncore_imc_0/";
  root.write(device + "type", "1");  // PERF_TYPE_SOFTWARE
  root.write(device + "events/l2d_cache_refill", "low=0x1,high=0x0"), root.write(device + "format/low", "config:0-3");
  root.write(device + "format/high", "config:4-7,32");  // 1: PERF_COUNT_SW_TASK_CLOCK, in ns
  root.write(memory + "type", "1"), root.write(memory + "cpumask", "0"),
      root.write(memory + "format/event", "config:0-7");
  root.write(memory + "events/cas_count_read", "event=0x00");  // PERF_COUNT_SW_CPU_CLOCK
  root.write(memory + "events/cas_count_read.scale", "6.103515625e-5"),
      root.write(memory + "events/cas_count_read.unit", "MiB");
  const auto counters = open_counters(root.path);
  if (contains(counters->words(), "lacks perf_event_open") || contains(counters->words(), "permission denied")) return;
  counters->lead();
  EXPECT(counters->any());
  EXPECT(contains(counters->words(), "perf: user code of all threads of a rank"));
  // Computes for 20 ms of this thread's processor time, whatever the load of the machine.
  const auto spin = [] {
    const auto used_s = [] {
      rusage used{};
      getrusage(RUSAGE_THREAD, &used);
      return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
             1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    };
    const double until_s = used_s() + 0.02;
    while (used_s() < until_s) {
    }
  };
  for (int repetition = 0; repetition < 2; ++repetition) {
    counters->prepare();
    spin();  // not counted: not enabled yet
    counters->enable();
    std::thread(spin).join();  // a thread started meanwhile is counted too
    spin();
    counters->disable();
    spin();
    const Count counted = counters->counts()[8];
    EXPECT((counted.value > 0.9 * 0.04e9 && counted.value < 1.3 * 0.04e9) == true);
    EXPECT(counted.share > 0.99);
    if (const auto traffic = counters->traffic())
      EXPECT((traffic->read_bytes > 0.9 * 64 * 0.04e9 && traffic->written_bytes == 0) == true);
  }
}
