// Registry of benchmarks. Each benchmark is one file with one function, registered by one statement:
//
//     BENCHMARK(pingpong, .summary = "...", .ranks = exactly(2));
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiviat {

class Trial;

struct Bounds {
  std::int64_t least, most;
};
constexpr std::int64_t largest_int = std::numeric_limits<int>::max();  // MPI counts ranks in int

// Values that an axis accepts: some words, whole numbers within bounds, or numbers and a word; with `limits`,
// also "WORD:BYTES".
struct Accepted {
  Accepted(std::initializer_list<std::string> some) : words(some) {}
  Accepted(std::vector<std::string> some) : words(std::move(some)) {}
  Accepted(Bounds numbers) : bounds(numbers) {}
  Accepted(std::string word, Bounds numbers) : words{std::move(word)}, bounds(numbers) {}
  std::vector<std::string> words;
  std::optional<Bounds> bounds = {};
  bool limits = false;
};

// A parameter of a benchmark, set by --set NAME=VALUE or in a plan; `fallback` is its default.
struct Axis {
  std::string name, fallback, unit, help;
  Accepted accepted;

  void check(std::string_view value) const;  // throws UsageError if the value is not accepted
};

// Numbers of ranks that a benchmark can use.
struct RankRule {
  enum class Of { any, powers_of_two, squares };
  int min = 1, max = 0, multiple = 1;  // max 0: unlimited
  Of numbers = Of::any;
  bool allows(int ranks) const;
  int most(int available) const;  // the largest allowed number up to `available`; 0 if there is none
  std::string text() const;       // for messages: "at least 2", …
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

// A metric that a study reports. `better` is "lower" or "higher". A `proof` is a rounding error that the check bounds:
// it shows that the result is right, and nothing of the machine.
struct Quantity {
  std::string name, unit, better, help = {};
  bool proof = false;
};

// A headline figure at the top of a report: `metric` at message size `bytes`, or its best value over all cases.
// Headlines are sorted by `place`.
struct Headline {
  std::string title, metric;
  std::optional<std::int64_t> bytes = {};
  int place = 99;
};

// Measure of the problem size, which tells strong from weak scaling. `counts` names a number recorded with
// Trial::number, a metric or an axis; "class": the axis of that name; "ranks": the size is determined by the number of
// ranks.
struct ProblemSize {
  std::string counts, words = {};  // `words`: format of the size in reports; {} is the number, {,} the same with commas
  double power = 1;                // memory grows with the number to this power
  bool each = false;               // the number is the size per rank, not of the whole problem
};

// Names of the phases of a program that reports its time by phase, in the order of its tables.
struct PhaseNames {
  std::vector<std::string> computation, communication;
};

// Default sizes of studies that have a message size: short, medium and long messages.
constexpr const char* study_sizes = "1024,65536,1048576";

// Everything a benchmark declares about itself; exported as JSON by --describe.
struct Traits {
  std::string summary, source;        // one line; the publication or program that defines the benchmark
  std::vector<std::string> aka = {};  // its names in IMB and OSU
  Sampling sampling = Sampling::batched;
  RankRule ranks = at_least(2);
  bool sized = true;                   // has a message size
  std::string sizes = {};              // default message sizes, in the syntax of -m; empty: those of the plan
  bool buffers = true;                 // uses message buffers of Trial::buffer
  int element_bytes = 1;               // message sizes must be a multiple of it; others are skipped (reductions)
  bool bandwidth = false;              // reports bytes per second
  bool message_rate = false;           // reports messages per second
  bool threads = false;                // several threads of a rank communicate: needs MPI_THREAD_MULTIPLE
  std::vector<Quantity> reports = {};  // metrics of a study; the first one is its default headline
  double nominal_s = 0;                // approximate duration of a study in seconds
  std::vector<Axis> axes = {};
  // Section of reports: one of src/kiviat/report/study/sections.py, or a new one. Empty: the section of timed messages,
  // or none if this is a study.
  std::string section = {};
  int place = 0;              // order within the section; 0: after the others, by name
  bool tabled = true;         // list the metrics of a study in a table of its section
  std::string headline = {};  // the representative metric; empty: the first
  std::string scales = {};    // the metric used for speedup; empty: the headline
  std::vector<Headline> headlines = {};
  bool per_rank = false;  // rates are per rank
  std::optional<ProblemSize> problem = {};
  PhaseNames phases = {};
};

struct Benchmark {
  std::string name, file;  // source file relative to native/bench, without suffix: "pt2pt/pingpong"
  void (*run)(Trial&);
  Traits traits;

  std::vector<Axis> axes() const;  // its own axes, then the common ones that apply to it
  std::optional<Axis> axis(std::string_view name) const;
  // Command-line options that affect this benchmark, such as "-m".
  std::vector<std::string> options() const;
  std::string section() const;   // of the report; empty: none
  std::string describe() const;  // JSON
};

// All benchmarks, sorted by name. Complete when main() starts, constant afterwards.
const std::vector<Benchmark>& benchmarks();

// Benchmarks with this name or alias, ignoring case; several may share an alias. Throws UsageError with the nearest
// name if there is none.
std::vector<const Benchmark*> find_benchmarks(std::string_view name);

// The benchmark with this name or alias. Throws UsageError if there is none, or several, which it names.
const Benchmark& find_benchmark(std::string_view name);

// Adds a benchmark to the registry; instantiated by BENCHMARK only.
struct Registration {
  Registration(const char* name, void (*run)(Trial&), const char* path, Traits traits);
};

#define BENCHMARK(function, ...) \
  static const ::kiviat::Registration function##_registration(#function, function, __FILE__, {__VA_ARGS__})

}  // namespace kiviat
