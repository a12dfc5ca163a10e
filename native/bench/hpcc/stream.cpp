// STREAM: memory bandwidth of copy, scale, add and triad, on one rank or on all at once.
#include "bench/hpcc/scope.hpp"
#include "bench/hpcc/stream_arrays.hpp"
#include "bench/hpcc/threads.hpp"
#include "bench/memory.hpp"
#include "platform/clock.hpp"
#include "platform/compute.hpp"

using namespace kiviat;

namespace {

constexpr int repetitions = 10;  // after one that is not timed

class Study {
 public:
  explicit Study(Trial& t)
      : t_(t),
        scope_(scope_of(t)),
        idle_(!computes(t, scope_)),
        threads_(openmp_threads(t)),
        layout_(static_cast<std::size_t>(memory_of(t))),
        pages_(pages_of(t, idle_ ? 1 : 3 * layout_.stride * sizeof(double), threads_)),
        arrays_(pages_.as<double>(), layout_, threads_, t.seed(),
                static_cast<std::uint64_t>(t.rank()) * layout_.count) {
    t.uses_threads(threads_);
  }

  void operator()() {
    const bool carries = host::carries_payload() && !idle_;
    if (carries) arrays_.fill();
    choose();
    if (carries) arrays_.fill();
    std::array<double, stream_loops.size()> best_s;
    best_s.fill(INFINITY);
    for (int repetition = 0; repetition <= (t_.deterministic() ? 0 : repetitions); ++repetition) {
      for (std::size_t i = 0; i < stream_loops.size(); ++i) {
        const double seconds = timed(stream_loops[i], kernels_[i]);
        if (repetition > 0 || t_.deterministic()) best_s[i] = std::min(best_s[i], seconds);
      }
      t_.progressed((repetition + 1.0) / (repetitions + 1));
    }
    check();
    note();
    for (const std::size_t i : {3, 0, 1, 2}) report(stream_loops[i], best_s[i]);
  }

 private:
  // Selects the fastest kind of store for each loop, with all ranks computing at once on a part of the arrays larger
  // than any cache.
  void choose() {
    const std::vector<StreamKernels> candidates = stream_kernels();
    kernels_.fill(candidates.front());
    if (t_.deterministic()) return;
    const std::size_t of_caches =
        4 * t_.session().cache_bytes / sizeof(double) / StreamLayout::line * StreamLayout::line;
    const std::size_t part = std::min(layout_.count, of_caches);
    // Processors of one launch may support different kinds of stores, so all ranks make the largest number of attempts.
    const auto tries = static_cast<std::size_t>(t_.worst(static_cast<double>(candidates.size())));
    for (std::size_t i = 0; i < stream_loops.size(); ++i) {
      double least_s = INFINITY;
      for (std::size_t tried = 0; tried < tries; ++tried) {
        const StreamKernels& candidate = candidates[std::min(tried, candidates.size() - 1)];
        double seconds = INFINITY;
        for (int attempt = 0; attempt < 3; ++attempt)
          seconds = std::min(seconds, t_.seconds_of(
                                          1,
                                          [&](std::int64_t) {
                                            if (!idle_) arrays_.run(stream_loops[i].loop, candidate, part);
                                          },
                                          idle_));
        if (seconds < least_s) least_s = seconds, kernels_[i] = candidate;
      }
    }
  }

  // Returns the time of this rank in seconds.
  double timed(const StreamLoopTraits& loop, const StreamKernels& kernels) {
    const double count = static_cast<double>(layout_.count);
    double seconds = 0;
    t_.measured(
        loop.name,
        [&] {
          if (idle_) return;
          const double start_s = clock::now();
          work::run({.flops = loop.flops * count, .bytes = loop.bytes * count},
                    [&] { arrays_.run(loop.loop, kernels, layout_.count); });
          seconds = clock::now() - start_s;
        },
        idle_);
    return seconds;
  }

  void check() {
    std::string wrong;
    if (!idle_ && host::carries_payload()) {
      const std::array<double, 3> errors = arrays_.errors();
      for (const double error : errors)
        if (!(error <= StreamArrays::most_error))
          wrong = "array elements are wrong: their mean error is " + std::to_string(error / StreamArrays::most_error) +
                  " times what is allowed";
    }
    t_.confirm(wrong.empty(), wrong);
  }

  void note() {
    const std::size_t array_bytes = layout_.count * sizeof(double), least_bytes = 4 * t_.session().cache_bytes;
    std::string arrays = "3 of " + std::to_string(array_bytes) + " B on each rank";
    if (array_bytes < least_bytes && !t_.deterministic())
      arrays += ", less than 4 times the last-level cache (" + std::to_string(t_.session().cache_bytes) +
                " B): cache rates, not memory rates; at least memory=" + std::to_string(3 * least_bytes) +
                " measures memory";
    t_.number("array_bytes", array_bytes);
    t_.number("cache_bytes", t_.session().cache_bytes);
    t_.note("arrays", arrays);
    if (t_.deterministic()) return;
    std::string stores;
    for (std::size_t i = 0; i < stream_loops.size(); ++i) {
      if (i > 0) stores += ", ";
      stores.append(stream_loops[i].name).append(" ").append(kernels_[i].stores);
    }
    t_.note("stores", stores);
  }

  // Reports the mean rate over the ranks that compute.
  void report(const StreamLoopTraits& loop, double seconds) {
    const double rate = idle_ ? 0 : loop.bytes * static_cast<double>(layout_.count) / seconds;
    double sum = 0;
    MPI_Reduce(&rate, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, t_.comm());
    t_.report(loop.name, scope_ == Scope::single ? sum : sum / t_.ranks());
  }

  Trial& t_;
  Scope scope_;
  bool idle_;
  int threads_;
  StreamLayout layout_;
  HugePages pages_;
  StreamArrays arrays_;
  std::array<StreamKernels, stream_loops.size()> kernels_;
};

}  // namespace

static void stream(Trial& t) {
  Study study(t);
  t.study(std::ref(study));
}

BENCHMARK(stream,
          .summary = "memory bandwidth of the loops copy, scale, add and triad, per rank",
          .source = "J. McCalpin, STREAM, 1995; HPC Challenge, single and star STREAM",
          .aka = {"STREAM"},
          .sampling = Sampling::study,
          .ranks = at_least(1),
          .sized = false,
          .buffers = false,
          .reports = {{"triad", "B/s", "higher", "a = b + 3 c, 24 B per element; per rank, mean over ranks, best of ten"},
                      {"copy", "B/s", "higher", "c = a, 16 B per element"},
                      {"scale", "B/s", "higher", "b = 3 c, 16 B per element"},
                      {"add", "B/s", "higher", "c = a + b, 24 B per element"}},
          .nominal_s = 20,
          .axes = {scope_axis(false), memory_axis(), {"threads", "1", "threads", "threads of each rank", threads_of_rank}},
          .headlines = {{.title = "STREAM triad, per process", .metric = "triad", .place = 16}},
          .per_rank = true,
          .problem = ProblemSize{.counts = "array_bytes", .words = "arrays of {} B on each rank", .each = true});
