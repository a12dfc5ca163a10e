#include "results/result.hpp"

#include <algorithm>
#include <cmath>

#include "helpers.hpp"
#include "ranked_test.hpp"
#include "results/recorder.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

// Times 1 … 100 s and a bandwidth of 1000 B / time.
Result hundred(bool per_call) {
  Result result;
  result.metrics.push_back({"time", "s", "lower", per_call, Reservoir()});
  for (int i = 100; i >= 1; --i) result.metrics[0].samples.add(i);
  result.metrics.push_back({"bandwidth", "B/s", "higher", per_call, Reservoir(0), "time", 1000});
  return result;
}

bool near(std::optional<double> value, double expected) { return value && std::abs(*value / expected - 1) < 1e-9; }

}  // namespace

RANKED_TEST(summary_of_samples, 1) {
  const Result result = hundred(true);
  const Summary s = result.summary(*result.metric("time"));
  EXPECT(s.count == 100);
  EXPECT(near(s.mean, 50.5));
  EXPECT(near(s.min, 1));
  EXPECT(near(s.max, 100));
  EXPECT(near(s.p50, 50.5));
  EXPECT(near(s.p90, 90.1));
  EXPECT(near(s.p99, 99.01));
  EXPECT(near(s.ci_low, 40));  // the 40th and the 61st of 100
  EXPECT(near(s.ci_high, 61));
}

RANKED_TEST(percentiles_are_of_single_calls_only, 1) {
  const Result result = hundred(false);
  for (const char* metric : {"time", "bandwidth"}) {
    const Summary s = result.summary(*result.metric(metric));
    EXPECT(!s.p90);
    EXPECT(!s.p99);
    EXPECT(s.p50.has_value());
  }
}

RANKED_TEST(a_rate_falls_as_its_time_rises, 1) {
  const Result result = hundred(true);
  const Summary s = result.summary(*result.metric("bandwidth"));
  EXPECT(s.count == 100);
  EXPECT(near(s.mean, 1000 / 50.5));  // bytes / total time, not the mean of rates
  EXPECT(near(s.min, 10));
  EXPECT(near(s.max, 1000));
  EXPECT(near(s.p50, 1000 / 50.5));
  EXPECT(near(s.p90, 1000 / 10.9));  // 90 % of the rates are lower: 10 % of the times are shorter
  EXPECT(near(s.p99, 1000 / 1.99));
  EXPECT(near(s.ci_low, 1000 / 61.));
  EXPECT(near(s.ci_high, 1000 / 40.));
}

RANKED_TEST(no_samples_no_figures, 1) {
  Result result;
  result.metrics.push_back({"time", "s", "lower", true, Reservoir()});
  const std::string json = result.metrics_json(true);
  EXPECT(
      contains(json, R"("count":0,"mean":null,"min":null,"max":null,"p50":null,"p90":null,"p99":null,"ci_low":null)"));
  EXPECT(contains(json, R"("samples":[])"));
  EXPECT(result.metric("nonsense") == nullptr);
}

RANKED_TEST(records_bound_their_samples, 1) {
  Result result;
  result.metrics.push_back({"time", "s", "lower", true, Reservoir()});
  for (int i = 0; i < 5000; ++i) result.metrics[0].samples.add(i);
  const std::string json = result.metrics_json(true);
  const auto begin = json.find("\"samples\":[") + 11;
  const std::string samples = json.substr(begin, json.find(']', begin) - begin);
  EXPECT(std::count(samples.begin(), samples.end(), ',') == 999);
  EXPECT(samples.starts_with("0,"));
  EXPECT(samples.ends_with(",4999"));
  EXPECT(contains(json, "\"count\":5000"));
  EXPECT(contains(result.metrics_json(false), "\"samples\":null"));
}

RANKED_TEST(notes_keep_their_order_and_the_last_words, 1) {
  Result result;
  EXPECT(result.notes_json() == "{}");
  result.note("blas", "A");
  result.note("grid", "1 x 2");
  result.note("blas", "B \"0.3\"");
  EXPECT(result.notes_json() == R"({"blas":"B \"0.3\"","grid":"1 x 2"})");
  EXPECT(contains(result_event({"id", "hpl", {}}, result), R"("notes":{"blas":"B \"0.3\"",)"));
}
