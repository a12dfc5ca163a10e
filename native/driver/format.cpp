#include "driver/format.hpp"

#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "benchmark/registry.hpp"
#include "results/recorder.hpp"
#include "support/failure.hpp"

namespace kiviat {
namespace {

double micro(std::optional<double> seconds) { return seconds ? *seconds * 1e6 : NAN; }

// Prints a heading when the benchmark changes; reports failures in the same way in all formats.
class Tabular : public Format {
 public:
  void result(const Case& spec, const Result& result) final {
    const std::string heading = result.benchmark + " " + std::to_string(result.ranks);
    if (result.outcome == "ok" && heading != heading_) {
      heading_ = heading;
      if (result.metric("time")) head(result);
    }
    if (result.outcome != "ok") {
      std::printf("# %s: %s: %s\n", spec.id.c_str(), result.outcome.c_str(), result.reason.value_or("unknown").c_str());
    } else if (result.metric("time")) {
      row(spec.bytes().value_or(0), result);
    } else {
      study(spec, result);
    }
    std::fflush(stdout);
  }

 protected:
  virtual void head(const Result& result) = 0;
  virtual void row(std::int64_t bytes, const Result& result) = 0;
  // A study has metrics instead of columns; its tables appear in the JSON formats only.
  static void study(const Case& spec, const Result& result) {
    std::printf("# %s: check %s, %.1f s\n", spec.id.c_str(), result.check.c_str(), result.elapsed_s);
    values(result);
  }
  static void values(const Result& result) {
    for (const Metric& metric : result.metrics)
      std::printf("  %-40s %14.6g %s\n", metric.name.c_str(), result.summary(metric).p50.value_or(NAN),
                  metric.unit.c_str());
    for (const auto& [name, words] : result.notes) std::printf("  %s: %s\n", name.c_str(), words.c_str());
  }
  static Summary summary(const Result& result, const char* metric) {
    const Metric* found = result.metric(metric);
    return found ? result.summary(*found) : Summary{};
  }

 private:
  std::string heading_;
};

class Readable final : public Tabular {
  void head(const Result& result) override {
    std::printf("\n# %s, %d ranks\n%12s %8s %12s %10s %10s %12s %12s  %s\n", result.benchmark.c_str(), result.ranks,
                "bytes", "samples", "median/us", "low", "high", "min/us", "MB/s", "check");
  }
  // "-" is unavailable: the interval of few samples, the bandwidth of a call without one.
  static void cell(int width, int decimals, std::optional<double> value, double factor) {
    value ? std::printf(" %*.*f", width, decimals, *value * factor) : std::printf(" %*s", width, "-");
  }
  void row(std::int64_t bytes, const Result& result) override {
    const Summary time = summary(result, "time");
    std::printf("%12" PRId64 " %8zu", bytes, time.count);
    cell(12, 3, time.p50, 1e6), cell(10, 3, time.ci_low, 1e6), cell(10, 3, time.ci_high, 1e6);
    cell(12, 3, time.min, 1e6), cell(12, 2, summary(result, "bandwidth").p50, 1e-6);
    std::printf("  %s\n", result.check.c_str());
    if (find_benchmark(result.benchmark).traits.sampling == Sampling::study) values(result);
  }
};

// The two columns of the OSU micro-benchmarks, which are means; `bandwidth` if they report it.
class Osu final : public Tabular {
  static bool rated(const Result& result) { return result.benchmark == "uniband" || result.benchmark == "biband"; }
  void head(const Result& result) override {
    std::printf("\n# Kiviat %s, %d ranks\n%-10s%20s\n", result.benchmark.c_str(), result.ranks, "# Size",
                rated(result)      ? "Bandwidth (MB/s)"
                : result.ranks > 2 ? "Avg Latency(us)"
                                   : "Latency (us)");
  }
  void row(std::int64_t bytes, const Result& result) override {
    if (rated(result)) {
      std::printf("%-10" PRId64 "%20.2f\n", bytes, summary(result, "bandwidth").mean.value_or(0) / 1e6);
      return;
    }
    const Summary own = summary(result, "time_rank_mean");
    std::printf("%-10" PRId64 "%20.2f\n", bytes, micro(own.mean ? own.mean : summary(result, "time").mean));
  }
};

// The columns of IMB 2019 and later: MB = 10^6 bytes.
class Imb final : public Tabular {
  static bool collective(const Result& result) { return result.metric("time_rank_mean"); }
  void head(const Result& result) override {
    std::printf(
        "\n#---------------------------------------------------\n# Benchmarking %s\n# #processes = %d\n"
        "#---------------------------------------------------\n",
        result.benchmark.c_str(), result.ranks);
    std::printf(collective(result) ? "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
                                   : "       #bytes #repetitions      t[usec]   Mbytes/sec\n");
  }
  void row(std::int64_t bytes, const Result& result) override {
    const Summary time = summary(result, "time");
    const auto repetitions = time.count * static_cast<std::size_t>(result.batch.value_or(1));
    if (collective(result)) {
      std::printf("%13" PRId64 " %12zu %12.2f %12.2f %12.2f\n", bytes, repetitions,
                  micro(summary(result, "time_rank_min").mean), micro(summary(result, "time_rank_max").mean),
                  micro(summary(result, "time_rank_mean").mean));
    } else {
      std::printf("%13" PRId64 " %12zu %12.2f %12.2f\n", bytes, repetitions, micro(time.mean),
                  summary(result, "bandwidth").mean.value_or(0) / 1e6);
    }
  }
};

class Csv final : public Format {
 public:
  void begin(const std::string&) override {
    std::printf("case,benchmark,ranks,bytes,outcome,check,metric,unit,count,mean,min,max,p50,p90,p99,ci_low,ci_high\n");
  }
  void result(const Case& spec, const Result& result) override {
    const auto cell = [](std::optional<double> value) { value ? std::printf(",%.9g", *value) : std::printf(","); };
    const auto head = [&] {
      std::printf("%s,%s,%d,%s,%s,%s", spec.id.c_str(), result.benchmark.c_str(), result.ranks,
                  result.bytes ? std::to_string(*result.bytes).c_str() : "", result.outcome.c_str(),
                  result.check.c_str());
    };
    if (result.metrics.empty()) head(), std::printf(",,,,,,,,,,,\n");
    for (const Metric& metric : result.metrics) {
      const Summary s = result.summary(metric);
      head();
      std::printf(",%s,%s,%zu", metric.name.c_str(), metric.unit.c_str(), s.count);
      for (const auto& value : {s.mean, s.min, s.max, s.p50, s.p90, s.p99, s.ci_low, s.ci_high}) cell(value);
      std::printf("\n");
    }
    std::fflush(stdout);
  }
};

class Jsonl : public Format {
 public:
  void begin(const std::string& launch_json) override { print(launch_json); }
  void result(const Case& spec, const Result& result) override { print(result_event(spec, result)); }

 protected:
  virtual void print(const std::string& json) {
    std::printf("%s\n", json.c_str());
    std::fflush(stdout);
  }
};

class JsonArray final : public Jsonl {
  void print(const std::string& json) override {
    std::printf("%s%s", first_ ? "[\n" : ",\n", json.c_str()), first_ = false;
  }
  void end() override { std::printf("\n]\n"); }
  bool first_ = true;
};

}  // namespace

std::unique_ptr<Format> make_format(const std::string& name) {
  if (name == "table") return std::make_unique<Readable>();
  if (name == "osu") return std::make_unique<Osu>();
  if (name == "imb") return std::make_unique<Imb>();
  if (name == "csv") return std::make_unique<Csv>();
  if (name == "json") return std::make_unique<JsonArray>();
  if (name == "jsonl") return std::make_unique<Jsonl>();
  throw UsageError("format '" + name + "' is unknown: give table, osu, imb, csv, json or jsonl");
}

}  // namespace kiviat
