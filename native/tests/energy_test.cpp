// Energy from fabricated meters, with a clock that the test advances.
#include "meters/energy.hpp"

#include <sys/stat.h>
#include <sys/time.h>

#include <cmath>

#include "helpers.hpp"
#include "instruments.hpp"
#include "ranked_test.hpp"
#include "support/failure.hpp"
#include "virtual_mpi.hpp"

using namespace kiviat;
using namespace kiviat::test;
using energy::Covers;

namespace {

// A clock that advances only by turn().
struct TurnedClock {
  TurnedClock() {
    virtual_mpi() = {.seconds = [](int, int, int) { return 0.0; }};
  }
  ~TurnedClock() { virtual_mpi() = {}; }
  static void turn(double seconds) { virtual_mpi().clock_s += seconds; }
};

energy::Places places(const FakeRoot& root, const std::string& file = "") {
  return {root.path, "/nonexistent/nvml.so", file};
}

std::string names(const energy::Found& found) {
  std::string text;
  for (const auto& source : found.sources)
    text += source->name +
            (source->covers == Covers::node    ? " (node)"
             : source->covers == Covers::aside ? " (aside)"
                                               : "") +
            ';';
  return text;
}

bool near(double value, double expected) { return std::abs(value - expected) <= 1e-9 * std::abs(expected); }

bool near(std::optional<double> value, double expected) { return value && near(*value, expected); }

void rapl_zone(const FakeRoot& root, const std::string& zone, const char* name, const char* microjoules) {
  const std::string folder = "sys/class/powercap/" + zone + '/';
  root.write(folder + "name", name), root.write(folder + "energy_uj", microjoules),
      root.write(folder + "max_energy_range_uj", "262143328850");
}

// A meter with constant power that counts calls of begin().
std::unique_ptr<energy::Source> constant(const char* name, Covers covers, double watts, int* begun = nullptr,
                                         double renewed_s = 1e-3) {
  bool first = true;
  return energy::counter(name, std::string("test ") + name, covers, renewed_s, [=]() mutable -> std::optional<double> {
    if (first && begun) ++*begun;
    first = false;
    return 1000 + watts * clock::now();
  });
}

template <class... Sources>
energy::Found found(Sources... sources) {
  energy::Found all;
  (all.sources.push_back(std::move(sources)), ...);
  return all;
}

// A study of two kernels: one takes 2 s and runs twice, the other takes 0.5 s and runs once.
void two_kernels(Trial& t) {
  for (int repetition = 0; repetition < 2; ++repetition) t.measured("long", [] { TurnedClock::turn(2); });
  t.measured("short", [] { TurnedClock::turn(0.5); });
}

}  // namespace

// Values recorded on a Xeon: the counter of package 0 wraps around during a kernel, that of the memory does not.
RANKED_TEST(rapl_counters_that_begin_again_go_on_counting, 1) {
  const FakeRoot root;
  rapl_zone(root, "intel-rapl:0", "package-0", "262143000000");
  rapl_zone(root, "intel-rapl:0:0", "core", "1"), rapl_zone(root, "intel-rapl:0:1", "dram", "5000000");
  rapl_zone(root, "intel-rapl:1", "psys", "7"), rapl_zone(root, "intel-rapl-mmio:0", "package-0", "262143000000");
  energy::Found found = energy::find_sources(places(root));
  EXPECT(names(found) == "package;dram;platform (aside);");
  for (const auto& source : found.sources) source->begin();
  // The counter is sampled long before it can wrap twice: 262 kJ at 2 kW last 131 s.
  EXPECT(std::abs(found.sources[0]->patience_s - 131) < 1);
  rapl_zone(root, "intel-rapl:0", "package-0", "671150"), rapl_zone(root, "intel-rapl:0:1", "dram", "6500000");
  for (const auto& source : found.sources) source->look();
  EXPECT(near(found.sources[0]->joules(), 1.0));
  EXPECT(near(found.sources[1]->joules(), 1.5));
  // The counter wraps a second time, between two samples.
  rapl_zone(root, "intel-rapl:0", "package-0", "671149");
  found.sources[0]->look();
  EXPECT(near(found.sources[0]->joules(), 262144.328849));
}

RANKED_TEST(energy_that_only_root_may_read_is_explained, 1) {
  const FakeRoot root;
  rapl_zone(root, "intel-rapl:0", "package-0", "1");
  chmod((root.path + "/sys/class/powercap/intel-rapl:0/energy_uj").c_str(), 0);
  const uid_t user = geteuid();
  if (user == 0) EXPECT(seteuid(65534) == 0);
  const energy::Found found = energy::find_sources(places(root));
  if (user == 0) EXPECT(seteuid(user) == 0);
  EXPECT(found.sources.empty());
  const energy::Reader reader(energy::find_sources({"/nonexistent", "/nonexistent/nvml.so", ""}));
  std::string said;
  for (const std::string& words : found.missing) said += words + '\n';
  EXPECT(contains(
      said, "permission denied: RAPL's energy_uj is readable by root only; an administrator allows it by `chmod o+r "));
  EXPECT(energy::account(reader, {}, {}).words ==
         "unavailable: KIVIAT_ENERGY_FILE is not set, no /sys/cray/pm_counters, no /sys/class/powercap, "
         "no energy or power sensor in /sys/class/hwmon, no NVML (/nonexistent/nvml.so)");
}

RANKED_TEST(power_of_sensors_is_integrated, 1) {
  const FakeRoot root;
  const TurnedClock clock;
  root.write("sys/class/hwmon/hwmon0/name", "power_meter");
  root.write("sys/class/hwmon/hwmon0/power1_average", "200000000");
  root.write("sys/class/hwmon/hwmon0/power1_input", "1");
  root.write("sys/class/hwmon/hwmon0/power1_average_interval", "1000");
  root.write("sys/class/hwmon/hwmon1/name", "ina226");
  root.write("sys/class/hwmon/hwmon1/power1_input", "5000000"),
      root.write("sys/class/hwmon/hwmon1/power1_label", "VDD");
  root.write("sys/class/hwmon/hwmon2/name", "coretemp"), root.write("sys/class/hwmon/hwmon2/temp1_input", "40000");
  energy::Found found = energy::find_sources(places(root));
  EXPECT(names(found) == "node (node);hwmon ina226 VDD (aside);");
  energy::Source& node = *found.sources.front();
  EXPECT(node.renewed_s == 1);
  node.begin();
  clock.turn(2), node.look();  // 400 J
  root.write("sys/class/hwmon/hwmon0/power1_average", "300000000");
  clock.turn(2), node.look();  // 500 J
  EXPECT(near(node.joules(), 900));
  std::filesystem::remove(root.path + "/sys/class/hwmon/hwmon0/power1_average");
  node.look();
  EXPECT(!node.joules());
  EXPECT(node.trouble() == "could not be read");
}

RANKED_TEST(sockets_of_amd_are_packages_unless_rapl_has_them, 1) {
  const FakeRoot root;
  root.write("sys/class/hwmon/hwmon0/name", "amd_energy");
  for (const auto& [sensor, label] : {std::pair("energy1", "Ecore000"), std::pair("energy9", "Esocket0")}) {
    root.write(std::string("sys/class/hwmon/hwmon0/") + sensor + "_input", "123456789");
    root.write(std::string("sys/class/hwmon/hwmon0/") + sensor + "_label", label);
  }
  EXPECT(names(energy::find_sources(places(root))) == "package;");
  rapl_zone(root, "intel-rapl:0", "package-0", "1");
  EXPECT(names(energy::find_sources(places(root))) == "package;");
  EXPECT(energy::find_sources(places(root)).sources.front()->origin == "RAPL package-0");
}

RANKED_TEST(a_file_of_the_site_says_joules_or_watts, 1) {
  const FakeRoot root;
  const TurnedClock clock;
  const std::string file = root.path + "/energy";
  const auto said = [&](const char* text) {
    root.write("energy", text);
    return energy::find_sources(places(root, file));
  };
  for (const char* text : {"some", "12", "12 kW", "nan J", "1 J 2"}) {
    const energy::Found none = said(text);
    EXPECT(none.sources.empty());
    EXPECT(contains(none.missing.front(), "energy contains '" + std::string(text) +
                                              "': it must hold a number and J or W, such as 48211.5 J"));
  }
  EXPECT(contains(energy::find_sources(places(root, "/nonexistent/energy")).missing.front(),
                  "KIVIAT_ENERGY_FILE=/nonexistent/energy: No such file"));
  const auto renew = [&](const char* text, long stamp) {
    root.write("energy", text);
    const timeval times[2] = {{stamp, 0}, {stamp, 0}};
    utimes(file.c_str(), times);
  };
  renew("1000 J", 1);
  energy::Found counting = energy::find_sources(places(root, file));
  EXPECT(names(counting) == "node (node);");
  counting.sources[0]->begin();
  clock.turn(20), renew("4000.5 J", 2), counting.sources[0]->look();
  EXPECT(near(counting.sources[0]->joules(), 3000.5));
  renew("150 W", 3);
  energy::Found watts = energy::find_sources(places(root, file));
  watts.sources[0]->begin();
  clock.turn(20), renew("250 W", 4), watts.sources[0]->look();
  EXPECT(near(watts.sources[0]->joules(), 4000));
  // The story: an agent that had died left its last reading in the file.
  watts.sources[0]->begin();
  clock.turn(20), watts.sources[0]->look();
  EXPECT(!watts.sources[0]->joules());
  EXPECT(watts.sources[0]->trouble() == "was not updated during the measurement");
}

RANKED_TEST(cray_tells_the_node_and_what_is_within, 1) {
  const FakeRoot root;
  root.write("sys/cray/pm_counters/energy", "1000 J"), root.write("sys/cray/pm_counters/cpu_energy", "400 J");
  energy::Found found = energy::find_sources(places(root));
  EXPECT(names(found) == "node (node);package (aside);");
  found.sources[0]->begin();
  root.write("sys/cray/pm_counters/energy", "1500 J");
  found.sources[0]->look();
  EXPECT(near(found.sources[0]->joules(), 500));
}

// GPU 0 counts millijoules, GPU 1 reports watts only, GPU 2 neither (tests/fake_nvml.cpp).
RANKED_TEST(gpus_are_asked_for_energy_or_else_for_power, 1) {
  const TurnedClock clock;
  energy::Found found = energy::find_sources({"/nonexistent", KIVIAT_FAKE_NVML, ""});
  EXPECT(names(found) == "gpu;gpu;");
  EXPECT(found.missing.back() == "NVML GPU 2 reports neither energy nor power");
  for (const auto& source : found.sources) source->begin();
  clock.turn(10);
  for (const auto& source : found.sources) source->look();
  EXPECT(near(found.sources[0]->joules(), 2.5));
  EXPECT(near(found.sources[1]->joules(), 700));
}

RANKED_TEST(one_rank_of_a_node_reads, 1, 2, 4) {
  const TurnedClock clock;
  Session session(world.comm);
  int begun = 0;
  session.instruments.energy = std::make_unique<energy::Reader>(found(constant("package", Covers::part, 80, &begun),
                                                                      constant("dram", Covers::part, 20),
                                                                      constant("platform", Covers::aside, 500)));
  const Result result = studied(session, {}, two_kernels);
  EXPECT(begun == (world.rank == 0));
  if (world.rank != 0) return;
  const Table *joules = table_of(result, "energy"), *watts = table_of(result, "power"),
              *parts = table_of(result, "energy_by_source");
  EXPECT((joules && watts && parts) == true);
  if (!joules || !watts || !parts) return;
  EXPECT(joules->axes[0].values == (std::vector<std::string>{"long", "short"}));
  EXPECT(joules->axes[1].values.size() == 1);
  // Energy per repetition: 2 s and 0.5 s at 100 W.
  EXPECT((near(joules->values[0], 200) && near(joules->values[1], 50)) == true);
  EXPECT((near(watts->values[0], 100) && near(watts->values[1], 100)) == true);
  EXPECT(parts->axes[1].values == (std::vector<std::string>{"package", "dram", "platform"}));
  EXPECT((near(parts->values[0], 160) && near(parts->values[1], 40) && near(parts->values[2], 1000)) == true);
  EXPECT(note_of(result, "energy") == "measured: test package + test dram; not in the sum: test platform");
  EXPECT(near(table_of(result, "kernel_time")->values[0], 2));
}

// Gears is checked between its steps, which are parts of one repetition.
RANKED_TEST(parts_of_a_repetition_are_added, 1) {
  const TurnedClock clock;
  Session session(world.comm);
  const Result result = studied(session, {{"watts", "100/node"}}, [](Trial& t) {
    t.measured("steps", [] { TurnedClock::turn(2); });
    TurnedClock::turn(7);  // a check
    t.measured("steps", [] { TurnedClock::turn(1); }, false, Trial::Repetition::last);
    t.measured("steps", [] { TurnedClock::turn(5); });
  });
  EXPECT(near(table_of(result, "kernel_time")->values[0], 4));
  EXPECT(near(table_of(result, "energy")->values[0], 400));
}

RANKED_TEST(the_node_stands_for_its_parts, 1) {
  const TurnedClock clock;
  Session session(world.comm);
  session.instruments.energy = std::make_unique<energy::Reader>(found(
      constant("package", Covers::part, 80), constant("node", Covers::node, 300), constant("gpu", Covers::part, 50)));
  const Result result = studied(session, {}, two_kernels);
  EXPECT(near(table_of(result, "power")->values[0], 300));
  EXPECT(note_of(result, "energy") == "measured: test node; not in the sum: test package, test gpu");
}

RANKED_TEST(what_cannot_be_told_is_unavailable_and_never_0, 1, 2) {
  const TurnedClock clock;
  Session session(world.comm);
  const auto with = [&](auto... sources) {
    session.instruments.energy = std::make_unique<energy::Reader>(found(std::move(sources)...));
    return studied(session, {}, two_kernels);
  };
  // Ten updates per second suffice for 4 s, but not for 0.5 s.
  const Result slow = with(constant("node", Covers::node, 100, nullptr, 0.1));
  const Result still = with(constant("package", Covers::part, 100), constant("dram", Covers::part, 0));
  const Result dead = with(energy::counter("node", "test node", Covers::node, 1e-3, [] { return std::nullopt; }));
  const Result none = with();
  if (world.rank != 0) return;
  EXPECT(near(table_of(slow, "energy")->values[0], 200));
  EXPECT(std::isnan(table_of(slow, "energy")->values[1]));
  EXPECT(note_of(slow, "energy") ==
         "measured: test node; but test node cannot measure durations below 1 s in all (short)");
  EXPECT(near(table_of(still, "power")->values[0], 100));
  EXPECT(contains(note_of(still, "energy"),
                  "measured: test package + test dram; but test dram did not change (long, short)"));
  EXPECT(table_of(dead, "energy") == nullptr);
  EXPECT(contains(note_of(dead, "energy"), "unavailable: test node could not be read (long, short)"));
  EXPECT((table_of(none, "energy") == nullptr && table_of(none, "power") == nullptr) == true);
  EXPECT(note_of(none, "energy").starts_with("unavailable: "));
}

// The reader's thread samples the power while the kernel runs.
RANKED_TEST(watts_that_change_meanwhile_are_noticed, 1) {
  double begun_s = NAN;
  energy::Reader reader(found(energy::meter("node", "test node", Covers::node, 0.05, [&]() -> std::optional<double> {
    if (std::isnan(begun_s)) begun_s = clock::now();
    return clock::now() - begun_s < 0.2 ? 100.0 : 300.0;
  })));
  reader.start();
  usleep(400'000);
  reader.stop();
  // 20 J and 60 J are expected; samples are taken every 50 ms, fewer on a busy machine.
  EXPECT(reader.seconds() >= 0.4);
  const double mean_w = *reader.sources()[0]->joules() / reader.seconds();
  EXPECT((mean_w > 150 && mean_w < 290 && std::abs(mean_w - (300 - 200 * 0.2 / reader.seconds())) < 40) == true);
}

RANKED_TEST(watts_are_declared_per_node_or_socket, 1, 2) {
  const TurnedClock clock;
  Session session(world.comm);
  int begun = 0;
  session.instruments.energy = std::make_unique<energy::Reader>(found(constant("node", Covers::node, 1, &begun)));
  const Result node = studied(session, {{"watts", "115/node"}}, two_kernels);
  const Result socket = studied(session, {{"watts", "95.5/socket"}}, two_kernels);
  EXPECT(begun == 0);
  if (world.rank == 0) {
    EXPECT((near(table_of(node, "energy")->values[0], 230) && near(table_of(node, "power")->values[1], 115)) == true);
    EXPECT(note_of(node, "energy") == "declared: 115 W per node");
    EXPECT(table_of(node, "energy_by_source") == nullptr);
    const int sockets = energy::sockets(energy::usual_places());
    if (sockets > 0)
      EXPECT(near(table_of(socket, "power")->values[0], 95.5 * sockets));
    else
      EXPECT(contains(note_of(socket, "energy"), "unavailable: "));
  }
  for (const char* text : {"115", "115/rack", "/node", "-5/node", "0/node", "many/node", "1e999/node", "115/"})
    EXPECT(contains(
        thrown<UsageError>([&] { energy::parse_watts(text); }),
        "watts is '" + std::string(text) + "': give watts per node or per socket, such as 115/node or 95/socket"));
}

RANKED_TEST(sockets_are_counted, 1) {
  const FakeRoot root;
  for (int processor = 0; processor < 4; ++processor)
    root.write("sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/physical_package_id",
               std::to_string(processor / 2));
  EXPECT(energy::sockets({root.path, "", ""}) == 2);
  EXPECT(energy::sockets({"/nonexistent", "", ""}) == 0);
}

RANKED_TEST(accounts_arrive_as_they_were_sent, 1) {
  const energy::Account sent{
      "measured: a, b", {1.25, NAN}, {1e-30, 3e9}, {{"package", {2, NAN}}, {"hwmon x y", {NAN, 1.0 / 3}}}};
  const energy::Account got = energy::Account::from(sent.text(), 2);
  EXPECT(got.words == sent.words);
  EXPECT(energy::Account::from("", 3).joules.size() == 3);
  EXPECT((got.joules.size() == 2 && got.joules[0] == 1.25 && std::isnan(got.joules[1])) == true);
  EXPECT(got.watts == sent.watts);
  EXPECT((got.parts.size() == 2 && got.parts[1].name == "hwmon x y" && got.parts[1].joules[1] == 1.0 / 3) == true);
}
