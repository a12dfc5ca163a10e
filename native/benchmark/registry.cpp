#include "benchmark/registry.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>

#include "support/failure.hpp"
#include "support/json.hpp"

namespace kiviat {
namespace {

std::vector<Benchmark>& registered() {
  static std::vector<Benchmark> all;
  return all;
}

// Examples: "…/native/bench/pt2pt/pingpong.cpp" → "pt2pt/pingpong"; a site's "…/benchmarks/ring.cpp" → "site/ring"
std::string below_bench(std::string_view path) {
  constexpr std::string_view own = "bench/", of_site = "benchmarks/";
  if (const auto dot = path.rfind('.'); dot != std::string_view::npos) path = path.substr(0, dot);
  const auto after = [&](std::string_view folder) {
    const auto at = path.rfind(folder);
    return at == std::string_view::npos ? 0 : at + folder.size();
  };
  const std::size_t at = after(own), at_site = after(of_site);
  return at_site > at ? "site/" + std::string(path.substr(at_site)) : std::string(path.substr(at));
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::vector<Quantity> metrics_of(const Traits& traits) {
  if (traits.sampling == Sampling::study) return traits.reports;
  std::vector<Quantity> metrics = {{"time", "s", "lower"}};
  if (traits.bandwidth) metrics.push_back({"bandwidth", "B/s", "higher"});
  if (traits.message_rate) metrics.push_back({"message_rate", "1/s", "higher"});
  if (traits.sampling == Sampling::per_call || traits.sampling == Sampling::round_trips)
    for (const char* name : {"time_rank_mean", "time_rank_max", "time_rank_min"})
      metrics.push_back({name, "s", "lower"});
  if (traits.sampling == Sampling::overlapped) {
    for (const char* name : {"time_compute", "time_overlapped"}) metrics.push_back({name, "s", "lower"});
    metrics.push_back({"overlap", "%", "higher"});
  }
  return metrics;
}

}  // namespace

void Axis::check(std::string_view value) const {
  const auto& [words, bounds, limits] = accepted;
  if (std::ranges::find(words, value) != words.end()) return;
  std::string allowed;
  for (const std::string& word : words) allowed += (allowed.empty() ? "" : ", ") + word;
  if (bounds) {
    std::string_view digits = value;
    if (limits && digits.starts_with(words.front() + ":")) digits.remove_prefix(words.front().size() + 1);
    std::int64_t number{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool read = error == std::errc{} && end == digits.data() + digits.size();
    if (read && number >= bounds->least && number <= bounds->most) return;
    allowed = std::to_string(bounds->least) + " to " + std::to_string(bounds->most) + (words.empty() ? "" : ", or ") +
              allowed + (limits ? ", or " + allowed + ":BYTES" : "");
  } else {
    allowed.insert(0, "one of ");
  }
  throw UsageError(name + "=" + std::string(value) + ": give " + allowed);
}

bool RankRule::allows(int ranks) const {
  if (ranks < min || (max != 0 && ranks > max) || ranks % multiple != 0) return false;
  if (numbers == Of::powers_of_two) return std::has_single_bit(static_cast<unsigned>(ranks));
  if (numbers == Of::any) return true;
  const int root = static_cast<int>(std::lround(std::sqrt(ranks)));
  return root * root == ranks;
}

int RankRule::most(int available) const {
  int ranks = max ? std::min(max, available) : available;
  while (ranks > 0 && !allows(ranks)) --ranks;
  return ranks;
}

std::string RankRule::text() const {
  if (min == max) return "exactly " + std::to_string(min);
  if (numbers == Of::powers_of_two) return "1, 2, 4, 8 or another power of two";
  if (numbers == Of::squares) return "1, 4, 9, 16 or another square number of";
  std::string rule = "at least " + std::to_string(min);
  if (max) rule += ", at most " + std::to_string(max);
  if (multiple > 1) rule += ", a multiple of " + std::to_string(multiple);
  return rule;
}

std::vector<Axis> Benchmark::axes() const {
  std::vector<Axis> all = traits.axes;
  all.push_back({"group", "0", "ranks", "ranks in each of several groups that run at once; 0: one group of all",
                 Bounds{0, largest_int}});
  if (traits.sampling != Sampling::study)
    all.push_back({"report",
                   "worst",
                   "",
                   "worst: time of the slowest group; all: also the time of each group",
                   {"worst", "all"}});
  if (traits.buffers) {
    all.push_back({"buffer", "malloc", "", "allocation of message buffers", {"malloc", "alloc_mem"}});
    all.push_back({"cache",
                   "hot",
                   "",
                   "hot: always the same buffer; off: buffers rotate through more memory than the last-level cache",
                   {"hot", "off"}});
  }
  return all;
}

std::optional<Axis> Benchmark::axis(std::string_view wanted) const {
  const std::vector<Axis> all = axes();
  const auto found = std::ranges::find(all, wanted, &Axis::name);
  return found == all.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string> Benchmark::options() const {
  std::vector<std::string> used;
  if (traits.sized) used.push_back("-m");
  if (traits.sampling == Sampling::study) return used;
  used.push_back("-i");
  if (traits.sampling != Sampling::overlapped) used.insert(used.end(), {"-x", "--pallas2"});
  if (traits.sampling == Sampling::per_call) used.push_back("--sync");
  used.insert(used.end(), {"--target", "--budget"});
  return used;
}

std::string Benchmark::section() const {
  if (!traits.section.empty() || traits.sampling == Sampling::study) return traits.section;
  if (traits.sampling == Sampling::overlapped) return "overlap";
  const std::string folder = file.substr(0, file.find('/'));
  return folder == "onesided" || folder == "collective" ? folder : "pt2pt";
}

std::string Benchmark::describe() const {
  const auto text = [](const std::string& s) { return json::quoted(s); };
  const char* sampling[] = {"batched", "per_call", "round_trips", "overlapped", "study"};
  json::Object rule;
  rule.field("min", traits.ranks.min);
  traits.ranks.max ? rule.field("max", traits.ranks.max) : rule.field("max", nullptr);
  rule.field("multiple", traits.ranks.multiple);
  const std::vector<Quantity> metrics = metrics_of(traits);
  const std::string headline = !traits.headline.empty() ? traits.headline : metrics.empty() ? "" : metrics.front().name;
  json::Object report;
  report.field("section", section()).field("place", traits.place);
  report.field("tabled", traits.sampling == Sampling::study && !traits.section.empty() && traits.tabled);
  report.field("headline", headline).field("scales", traits.scales.empty() ? headline : traits.scales);
  report.raw("headlines", json::array(traits.headlines, [](const Headline& one) {
               json::Object object;
               object.field("title", one.title).field("metric", one.metric).field("bytes", one.bytes);
               return object.field("place", one.place).text();
             }));
  std::vector<std::string> proofs;
  for (const Quantity& metric : metrics)
    if (metric.proof) proofs.push_back(metric.name);
  report.raw("proofs", json::array(proofs, text));
  report.field("per_rank", traits.per_rank);
  if (const auto& problem = traits.problem) {
    json::Object object;
    object.field("counts", problem->counts).field("words", problem->words);
    object.field("power", problem->power).field("each", problem->each);
    report.raw("problem", object.text());
  } else {
    report.field("problem", nullptr);
  }
  std::vector<std::string> phases;
  for (const auto& [names, role] :
       {std::pair(&traits.phases.computation, "computation"), std::pair(&traits.phases.communication, "communication")})
    for (const std::string& phase : *names)
      phases.push_back(json::Object().field("name", phase).field("role", role).text());
  report.raw("phases", json::array(phases, [](const std::string& phase) { return phase; }));
  const char* numbers[] = {"any", "powers_of_two", "squares"};
  rule.field("numbers", numbers[static_cast<int>(traits.ranks.numbers)]);
  return json::Object()
      .field("name", name)
      .field("file", file)
      .field("summary", traits.summary)
      .field("source", traits.source)
      .raw("aka", json::array(traits.aka, text))
      .field("sampling", sampling[static_cast<int>(traits.sampling)])
      .raw("ranks", rule.text())
      .field("sized", traits.sized)
      .field("sizes", traits.sizes)
      .field("element_bytes", traits.element_bytes)
      .field("threads", traits.threads)
      .field("nominal_s", traits.nominal_s)
      .raw("options", json::array(options(), text))
      .raw("axes", json::array(axes(),
                               [&](const Axis& axis) {
                                 json::Object object;
                                 object.field("name", axis.name).field("default", axis.fallback);
                                 object.field("unit", axis.unit).field("help", axis.help);
                                 const auto& [words, bounds, limits] = axis.accepted;
                                 words.empty() ? object.field("values", nullptr)
                                               : object.raw("values", json::array(words, text));
                                 if (bounds) object.field("least", bounds->least).field("most", bounds->most);
                                 if (limits) object.field("limits", true);
                                 return object.text();
                               }))
      .raw("metrics", json::array(metrics,
                                  [](const Quantity& metric) {
                                    return json::Object()
                                        .field("name", metric.name)
                                        .field("unit", metric.unit)
                                        .field("better", metric.better)
                                        .field("help", metric.help)
                                        .text();
                                  }))
      .raw("report", report.text())
      .text();
}

const std::vector<Benchmark>& benchmarks() { return registered(); }

std::vector<const Benchmark*> find_benchmarks(std::string_view name) {
  const std::string wanted = lower(name);
  std::vector<const Benchmark*> found;
  const Benchmark* nearest = nullptr;
  std::size_t distance = wanted.size();
  for (const Benchmark& benchmark : benchmarks()) {
    std::vector<std::string> names = benchmark.traits.aka;
    names.push_back(benchmark.name);
    bool meant = false;
    for (const std::string& known : names) {
      meant = meant || lower(known) == wanted;
      if (const auto d = edit_distance(lower(known), wanted); d < distance) distance = d, nearest = &benchmark;
    }
    if (meant) found.push_back(&benchmark);
  }
  if (found.empty())
    throw UsageError("unknown benchmark '" + std::string(name) + "'" +
                     (nearest ? "; did you mean '" + nearest->name + "'?" : ";") + " --list shows all");
  return found;
}

const Benchmark& find_benchmark(std::string_view name) {
  const std::vector<const Benchmark*> found = find_benchmarks(name);
  if (found.size() == 1) return *found.front();
  std::string names;
  for (const Benchmark* benchmark : found) names += (names.empty() ? "" : ", ") + benchmark->name;
  throw UsageError("benchmark name '" + std::string(name) + "' is ambiguous: give one of " + names);
}

Registration::Registration(const char* name, void (*run)(Trial&), const char* path, Traits traits) {
  auto& all = registered();
  Benchmark benchmark{name, below_bench(path), run, std::move(traits)};
  all.insert(std::ranges::upper_bound(all, benchmark.name, {}, &Benchmark::name), std::move(benchmark));
}

}  // namespace kiviat
