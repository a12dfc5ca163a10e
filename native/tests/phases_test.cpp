// Counters by phase of a program, with fabricated counters and a clock that the test advances.
#include "prof/phases.hpp"

#include "helpers.hpp"
#include "platform/clock.hpp"
#include "ranked_test.hpp"
#include "virtual_mpi.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

struct TurnedClock {
  TurnedClock() {
    virtual_mpi() = {.seconds = [](int, int, int) { return 0.0; }};
  }
  ~TurnedClock() { virtual_mpi() = {}; }
  static void turn(double seconds) { virtual_mpi().clock_s += seconds; }
};

// Counts a thousand instructions per second while enabled.
class Fake final : public CounterSource {
 public:
  bool any() const override { return true; }
  std::string words() const override { return "perf: made up"; }
  void prepare() override { counted_ = 0; }
  void enable() override { since_s_ = clock::now(); }
  void disable() override { counted_ += 1000 * (clock::now() - since_s_); }
  Counts counts() override {
    Counts counts;
    counts[0] = {counted_, 0.5};
    return counts;
  }
  void lead() override { leads_ = true; }
  std::optional<Traffic> traffic() override { return leads_ ? std::optional(Traffic{6, 3}) : std::nullopt; }

 private:
  double since_s_ = 0, counted_ = 0;
  bool leads_ = false;
};

std::unique_ptr<energy::Reader> reader(double watts) {
  energy::Found found;
  found.sources.push_back(energy::counter("node", "test", energy::Covers::node, 1e-3,
                                          [=]() -> std::optional<double> { return 1000 + watts * clock::now(); }));
  return std::make_unique<energy::Reader>(std::move(found));
}

}  // namespace

RANKED_TEST(phases_have_counters_and_energy_of_their_own, 1) {
  const TurnedClock time;
  prof::Phases phases(std::make_unique<Fake>(), reader(50));
  phases.enter(1), time.turn(2);
  phases.enter(7), time.turn(4);
  phases.enter(0), time.turn(100);  // MPI_Pcontrol(0): nothing is counted
  phases.enter(1), time.turn(3);
  phases.enter(0);
  EXPECT(phases.json() ==
         "{\"phases\":[1,7],\"seconds\":[5,4],\"counters\":{\"words\":\"perf: made "
         "up\",\"values\":{\"instructions\":[5000,4000]},"
         "\"least_share\":[0.5,0.5],\"read_bytes\":[12,6],\"written_bytes\":[6,3]},"
         "\"energy\":{\"words\":\"measured: "
         "test\",\"joules\":[250,200],\"watts\":[50,50],\"parts\":{\"node\":[250,200]}}}");
}

RANKED_TEST(phases_say_why_nothing_is_counted, 1) {
  const TurnedClock time;
  energy::Found found;
  found.missing = {"no meter"};
  prof::Phases alone(std::make_unique<NoCounters>("no PMU"), nullptr),
      first(std::make_unique<NoCounters>("no PMU"), std::make_unique<energy::Reader>(std::move(found)));
  for (prof::Phases* phases : {&alone, &first}) phases->enter(1), time.turn(1), phases->enter(0);
  const std::string counted =
      "{\"phases\":[1],\"seconds\":[1],\"counters\":{\"words\":\"unavailable: no "
      "PMU\",\"values\":{},\"least_share\":[1],"
      "\"read_bytes\":[null],\"written_bytes\":[null]}";
  EXPECT(alone.json() == counted + "}");
  EXPECT(first.json() ==
         counted + ",\"energy\":{\"words\":\"unavailable: no meter\",\"joules\":[],\"watts\":[],\"parts\":{}}}");
}
