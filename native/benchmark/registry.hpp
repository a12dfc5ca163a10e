// Benchmarks register themselves: one file, one function, one statement that says what it is.
//
//     BENCHMARK(pingpong, .summary = "...", .ranks = exactly(2));
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiviat {

class Trial;

struct Axis {
  std::string name, fallback, unit, help;
  std::vector<std::string> values = {};  // the only ones allowed, where there are few
};

struct RankRule {
  enum class Of { any, powers_of_two, squares };
  int min = 1, max = 0, multiple = 1;  // max 0: no bound
  Of numbers = Of::any;
  bool allows(int ranks) const;
  int most(int available) const;  // the largest that it allows; 0 if there is none
  std::string text() const;
};
constexpr RankRule exactly(int n) { return {n, n, 1}; }
constexpr RankRule at_least(int n) { return {n, 0, 1}; }
constexpr RankRule pairs() { return {2, 0, 2}; }
constexpr RankRule powers_of_two() { return {.numbers = RankRule::Of::powers_of_two}; }
constexpr RankRule squares() { return {.numbers = RankRule::Of::squares}; }

// Sampling of a benchmark: in batches (point to point), call by call (collectives), round trip by round trip,
// or call by call with overlapping computation (non-blocking collectives). A study follows its own procedure
// of many measurements, and reports its own metrics (b_eff, patterns, overhead).
enum class Sampling { batched, per_call, round_trips, overlapped, study };

struct Quantity {
  std::string name, unit, better, help = {};
};

// A figure of the head of a report: a metric of messages of `bytes`, or of the best case. Lower places come first.
struct Headline {
  std::string title, metric;
  std::optional<std::int64_t> bytes = {};
  int place = 99;
};

// The measure of a problem's size, which distinguishes strong scaling from weak: a number of Trial::number, a
// metric or an axis. "class" is an axis that names the size; with "ranks" it depends on their number alone.
struct ProblemSize {
  std::string counts, words = {};  // words say it in a report: {} is the number, {,} has commas
  double power = 1;                // of the number, that memory grows with
  bool each = false;               // of one rank's problem, not of all ranks' together
};

// Phases of a program that reports its time by phase, in the order of its tables.
struct PhaseNames {
  std::vector<std::string> computation, communication;
};

// Default sizes of studies that have a message size: short, medium and long messages.
constexpr const char* study_sizes = "1024,65536,1048576";

struct Traits {
  std::string summary, source;
  std::vector<std::string> aka = {};  // names that IMB or OSU users know
  Sampling sampling = Sampling::batched;
  RankRule ranks = at_least(2);
  bool sized = true;       // has a message size
  std::string sizes = {};  // those it brings, as for -m; empty: those of the plan
  bool buffers = true;     // its messages are in buffers of Trial::buffer
  int element_bytes = 1;   // sizes that are no multiple of it are skipped (reductions)
  bool bandwidth = false;  // reports bytes per second
  bool message_rate = false;
  bool threads = false;                // several threads of a rank communicate: in launches with MPI_THREAD_MULTIPLE
  std::vector<Quantity> reports = {};  // of a study; the first one stands for it
  double nominal_s = 0;                // of a study: about how long it takes
  std::vector<Axis> axes = {};
  // Section of reports: one of src/kiviat/report/study/sections.py, or a new one. Empty stands for that of
  // timed messages, or for none if this is a study.
  std::string section = {};
  int place = 0;              // among the benchmarks of the section; 0: after the others, by name
  bool tabled = true;         // of a study: a table of the section has its quantities, as no figure does
  std::string headline = {};  // the metric that stands for it; empty: the first
  std::string scales = {};    // the metric that speedup is of; empty: the headline
  std::vector<Headline> headlines = {};
  bool per_rank = false;  // rates are of one rank
  std::optional<ProblemSize> problem = {};
  PhaseNames phases = {};
};

struct Benchmark {
  std::string name, file;  // file: "pt2pt/pingpong", below native/bench
  void (*run)(Trial&);
  Traits traits;

  std::vector<Axis> axes() const;  // its own, then the common ones that it uses
  std::optional<Axis> axis(std::string_view name) const;
  // Options of the command line, such as "-m", that change what it measures or how.
  std::vector<std::string> options() const;
  std::string section() const;   // of the report; empty: none
  std::string describe() const;  // JSON
};

// All benchmarks by name. Complete, and only read, once main has started.
const std::vector<Benchmark>& benchmarks();

// Those that a name or an alias means, for several may share an alias; throws UsageError, naming the
// nearest, if there is none.
std::vector<const Benchmark*> find_benchmarks(std::string_view name);

// The only one; throws UsageError, naming all, if there are several.
const Benchmark& find_benchmark(std::string_view name);

struct Registration {
  Registration(const char* name, void (*run)(Trial&), const char* path, Traits traits);
};

#define BENCHMARK(function, ...) \
  static const ::kiviat::Registration function##_registration(#function, function, __FILE__, {__VA_ARGS__})

}  // namespace kiviat
