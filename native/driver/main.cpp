// kiviat-bench: runs benchmarks by name, or the cases of a file.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/registry.hpp"
#include "driver/format.hpp"
#include "driver/runner.hpp"
#include "measure/activity.hpp"
#include "platform/clock.hpp"
#include "results/recorder.hpp"
#include "support/failure.hpp"
#include "support/json.hpp"

namespace {

using namespace kiviat;

constexpr const char* usage =
    R"(usage: mpirun -n RANKS kiviat-bench BENCHMARK... [options]
       mpirun -n RANKS kiviat-bench --cases FILE --out FILE
       kiviat-bench --list | --describe | --help | --version
       mpirun -n RANKS kiviat-bench --info

Measures MPI communication. Benchmarks have the names of --list; IMB's and OSU's names work too.

  -m SIZES          message sizes in bytes: 8, 1,64,4096 or 1:4194304 (powers of two)
                    [0:4194304, or the benchmark's own default, see --describe]
  -i N              fixed number of iterations, as IMB and OSU do, instead of adaptive stopping
  -x N              warm-up iterations with -i
  --pallas2         back-to-back loops, as Pallas 2.2.1 timed collectives
  --sync KIND       start of timed calls: window (synchronised clocks) or barrier  [window]
  --target PCT      stop when the 95 % interval of the median is within +- PCT %  [2]
  --budget S        stop a case after S seconds even if the interval is wider  [1]
  --pages SIZE      memory pages: huge (kernels ask for huge pages) or small (no huge pages)  [huge]
  --ranks N         use the first N ranks of the launch  [all]
  --set AXIS=VALUE  set an axis (parameter) of the benchmark, see --describe; may be repeated
  --seed N          seed of payloads and random permutations  [1]
  --threads LEVEL   MPI thread level to request: single, or multiple for benchmarks in which several threads
                    of a rank communicate; multiple changes the times of other benchmarks too  [single]
  --format F        table, osu, imb, csv, json or jsonl, on rank 0's standard output  [table]
  --json FILE       results as JSON lines to FILE as well

An option that none of the benchmarks uses is an error.

Exit code: 0 success, 1 a case failed, 2 invalid command line.
)";

struct Options {
  std::vector<std::string> names;
  std::string cases, out, format = "table", sizes, threads = "single";
  std::map<std::string, std::string, std::less<>> words,
      given;  // given: options of benchmarks with their values, as typed
  bool list = false, describe = false, info = false, help = false, version = false;
};

// Refuses contradictory options, such as -i with --budget; "--set mode=..." counts as well.
void refuse_contradictions(const Options& options) {
  const auto mode = options.words.find("mode");
  const bool adaptive = mode == options.words.end() || mode->second == "adaptive";
  const auto without = [&](const char* option, const char* why) {
    if (const auto found = options.given.find(option); found != options.given.end())
      throw UsageError(std::string(option) + " " + found->second + ": " + why + "; leave it out");
  };
  if (adaptive) return without("-x", "without -i or --pallas2 the program chooses the number of warm-up iterations");
  for (const char* option : {"--target", "--budget"})
    without(option, "-i and --pallas2 fix the number of iterations, so no stopping rule applies");
}

// An option without effect is probably a mistake: at least one of the named benchmarks must use it.
void refuse_unused(const Options& options, const std::vector<const Benchmark*>& named) {
  for (const auto& [option, value] : options.given) {
    std::string names, takes;
    bool used = false;
    for (const Benchmark* benchmark : named) {
      used = used || std::ranges::count(benchmark->options(), option) > 0;
      names += (names.empty() ? "" : ", ") + benchmark->name;
    }
    if (used) continue;
    for (const std::string& other : named.front()->options()) takes += other + ", ";
    for (const Axis& axis : named.front()->axes())
      takes += (takes.empty() || takes.ends_with(' ') ? "--set " : "/") + axis.name;
    throw UsageError(option + (value.empty() ? "" : " " + value) + " is not used by " + names + "; " +
                     named.front()->name + " takes " + takes);
  }
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 >= argc) throw UsageError(argument + " needs a value; see --help");
      return argv[++i];
    };
    // Value of an option that only some benchmarks use; noted for refuse_unused().
    const auto noted = [&] { return options.given[argument] = value(); };
    if (argument == "--list")
      options.list = true;
    else if (argument == "--describe")
      options.describe = true;
    else if (argument == "--info")
      options.info = true;
    else if (argument == "--help" || argument == "-h")
      options.help = true;
    else if (argument == "--version")
      options.version = true;
    else if (argument == "--cases")
      options.cases = value();
    else if (argument == "--out" || argument == "--json")
      options.out = value();
    else if (argument == "--format")
      options.format = value();
    else if (argument == "-m")
      options.sizes = noted();
    else if (argument == "-i")
      options.words["iterations"] = noted(), options.words.try_emplace("mode", "fixed");
    else if (argument == "-x")
      options.words["warmup"] = noted();
    else if (argument == "--pallas2")
      options.words["mode"] = "pallas2", options.given[argument];
    else if (argument == "--sync")
      options.words["sync"] = noted();
    else if (argument == "--target")
      options.words["target"] = std::to_string(to_real(noted(), "--target") / 100);
    else if (argument == "--budget")
      options.words["budget_s"] = noted();
    else if (argument == "--pages")
      options.words["pages"] = value();
    else if (argument == "--ranks")
      options.words["ranks"] = value();
    else if (argument == "--seed")
      options.words["seed"] = value();
    else if (argument == "--threads")
      options.threads = value();
    else if (argument == "--set") {
      const std::string word = value();
      const auto equals = word.find('=');
      if (equals == 0 || equals == std::string::npos) throw UsageError("--set '" + word + "': give AXIS=VALUE");
      options.words[word.substr(0, equals)] = word.substr(equals + 1);
    } else if (argument.starts_with('-')) {
      throw UsageError("option '" + argument + "' is unknown; see --help");
    } else {
      options.names.push_back(argument);
    }
  }
  if (options.threads != "single" && options.threads != "multiple")
    throw UsageError("--threads is '" + options.threads + "': give single or multiple");
  if (!options.cases.empty() && options.out.empty()) throw UsageError("--cases needs --out FILE for the results");
  const bool driven = !options.cases.empty();
  if (driven && !(options.names.empty() && options.words.empty() && options.given.empty()))
    throw UsageError("--cases FILE already names benchmarks and their options; leave " +
                     (!options.names.empty()   ? options.names.front()
                      : !options.given.empty() ? options.given.begin()->first
                                               : options.words.begin()->first) +
                     " out");
  refuse_contradictions(options);
  if (!driven && options.names.empty() && !options.list && !options.describe && !options.info && !options.help &&
      !options.version)
    throw UsageError("no benchmark given; see --help and --list");
  return options;
}

// Cases of the command line: every named benchmark at every message size.
std::vector<Case> cases_of(const Options& options) {
  std::vector<Case> cases;
  std::vector<const Benchmark*> named;
  for (const std::string& name : options.names) std::ranges::copy(find_benchmarks(name), std::back_inserter(named));
  if (!named.empty()) refuse_unused(options, named);
  for (const Benchmark* benchmark : named) {
    std::vector<std::int64_t> sizes = {0};
    if (benchmark->traits.sized) {
      const std::string& own = benchmark->traits.sizes;
      sizes = parse_sizes(!options.sizes.empty() ? options.sizes : own.empty() ? "0:4194304" : own);
    }
    for (const std::int64_t bytes : sizes) {
      if (options.sizes.empty() && bytes % benchmark->traits.element_bytes != 0) continue;
      Case spec{benchmark->name, benchmark->name, options.words};
      if (benchmark->traits.sized) {
        spec.id += "/bytes=" + std::to_string(bytes);
        spec.words["bytes"] = std::to_string(bytes);
      }
      cases.push_back(std::move(spec));
    }
  }
  return cases;
}

// Rank 0 reads the file and broadcasts it, because reads by every rank would load a parallel file system. Cases are
// kept as lines of text, because a parsed case is ten times as large and a plan may have many thousands.
std::vector<std::string> read_cases(const std::string& path, const Session& session) {
  std::string text;
  long length = -1;
  if (session.rank == 0)
    if (std::ifstream file(path); file) {
      text.assign(std::istreambuf_iterator<char>(file), {});
      length = static_cast<long>(text.size());
    }
  session.group.broadcast(&length, sizeof length);
  if (length < 0) throw UsageError("cannot read the cases file '" + path + "'");
  text.resize(static_cast<std::size_t>(length));
  session.group.broadcast(text.data(), text.size());

  std::vector<std::string> lines;
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (parse_case(line, ++number)) lines.push_back(std::move(line));  // throws if the line is malformed
    begin = end + 1;
  }
  return lines;
}

int run(const Options& options, double mpi_init_s) {
  Session session(MPI_COMM_WORLD);
  session.mpi_init_s = mpi_init_s;
  const bool root = session.rank == 0, driven = !options.cases.empty();
  const std::string launch = session.describe();
  if (options.info) {
    if (root) std::printf("%s\n", launch.c_str());
    return 0;
  }
  const std::vector<std::string> lines = driven ? read_cases(options.cases, session) : std::vector<std::string>();
  const std::vector<Case> asked = driven ? std::vector<Case>() : cases_of(options);

  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<Format> format;
  // Only rank 0 writes; if it fails, it tells all ranks.
  int wrong = 0;
  std::string trouble;
  if (root) {
    try {
      if (!options.out.empty()) recorder = std::make_unique<Recorder>(options.out);
      if (!driven) format = make_format(options.format);
    } catch (const UsageError& error) {
      wrong = 2, trouble = error.what();
    } catch (const WriteError& error) {
      wrong = cannot_write, trouble = error.what();
    }
  }
  session.group.broadcast(&wrong, sizeof wrong);
  if (wrong == cannot_write) throw WriteError(trouble);
  if (wrong) throw UsageError(trouble);

  int failed = 0, proceed = 1;
  std::optional<ActivityMeter> activity;  // where kiviat reads the results
  if (driven) activity.emplace(session);
  const auto record = [&](const std::string& json) {
    if (recorder && !recorder->line(json)) proceed = 0;
  };
  if (root) {
    record(launch);
    if (format) format->begin(launch);
  }
  for (std::size_t i = 0; i < lines.size() + asked.size(); ++i) {
    const Case spec = driven ? *parse_case(lines[i], 0) : asked[i];
    if (root && driven) {
      record(json::Object().field("event", "start").field("case", spec.id).text());
      session.on_progress = [&](double share) {
        record(json::Object().field("event", "progress").field("case", spec.id).field("share", share).text());
      };
    }
    session.group.broadcast(&proceed, sizeof proceed);
    if (!proceed) return cannot_write;
    const Result result = run_case(spec, session);
    const std::string beside = activity ? activity->next() : "null";
    if (root) {
      record(result_event(spec, result, beside));
      if (format) format->result(spec, result);
      if (result.outcome == "failed") failed = 1;
    }
  }
  if (root) {
    if (driven) record(json::Object().field("event", "end").text());
    if (format) format->end();
    failed = proceed ? failed && !driven : cannot_write;
  }
  session.group.broadcast(&failed, sizeof failed);
  return failed;
}

// Returns whether this process prints messages: the process without launcher, or rank 0. The rank comes from the
// launcher's environment, because MPI has not started.
bool speaks_for_all() {
  for (const char* name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name)) return std::string_view(rank) == "0";
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  try {
    options = parse(argc, argv);
    if (options.cases.empty()) cases_of(options);  // check names and sizes before MPI starts
  } catch (const UsageError& error) {
    if (speaks_for_all()) std::fprintf(stderr, "kiviat-bench: %s\n", error.what());
    return 2;
  }
  if (options.help) return std::fputs(usage, stdout), 0;
  if (options.version) return std::puts("kiviat-bench " KIVIAT_VERSION), 0;
  if (options.list || options.describe) {
    std::puts(json::array(benchmarks(), [&](const Benchmark& benchmark) {
                if (options.describe) return benchmark.describe();
                return json::Object().field("name", benchmark.name).field("file", benchmark.file).text();
              }).c_str());
    return 0;
  }

  int rank, code, provided;
  const double before_init_s = clock::now();
  if (options.threads == "multiple")
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  else
    MPI_Init(&argc, &argv);
  const double mpi_init_s = clock::now() - before_init_s;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    code = run(options, mpi_init_s);
  } catch (const UsageError& error) {
    if (rank == 0) std::fprintf(stderr, "kiviat-bench: %s\n", error.what());
    code = 2;
  } catch (const WriteError& error) {
    if (rank == 0) std::fprintf(stderr, "kiviat-bench: %s\n", error.what());
    code = cannot_write;
  } catch (const std::exception& error) {
    // An error on a single rank: abort, because the others would wait for ever.
    std::fprintf(stderr, "kiviat-bench: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Finalize();
  return code;
}
