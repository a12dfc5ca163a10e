#include "results/result.hpp"

#include <algorithm>
#include <cmath>

#include "support/json.hpp"

namespace kiviat {
namespace {

constexpr std::size_t most_written = 1000;  // limit on samples in a record; beyond, evenly spaced quantiles are written

}  // namespace

Table::Table(std::string table, std::string its_unit, std::string which, std::vector<Axis> its_axes)
    : name(std::move(table)), unit(std::move(its_unit)), better(std::move(which)), axes(std::move(its_axes)) {
  std::size_t cells = 1;
  for (const Axis& axis : axes) cells *= axis.values.size();
  values.assign(cells, NAN);
}

double& Table::at(std::initializer_list<std::size_t> indices) {
  std::size_t cell = 0, dimension = 0;
  for (const std::size_t index : indices) cell = cell * axes.at(dimension++).values.size() + index;
  return values.at(cell);
}

const Metric* Result::metric(std::string_view name) const {
  const auto found = std::ranges::find(metrics, name, &Metric::name);
  return found == metrics.end() ? nullptr : &*found;
}

Summary Result::summary(const Metric& metric) const {
  const Metric* base = metric.from.empty() ? &metric : this->metric(metric.from);
  if (!base || base->samples.count() == 0) return {};
  const Reservoir& samples = base->samples;
  std::vector<double> sorted(samples.kept().begin(), samples.kept().end());
  std::ranges::sort(sorted);
  const auto interval = median_interval(sorted);

  Summary summary{samples.count(), samples.mean(), samples.min(), samples.max(), quantile(sorted, 0.5), {}, {}, {}, {}};
  if (interval) summary.ci_low = interval->low, summary.ci_high = interval->high;
  if (metric.from.empty()) {
    if (metric.per_call) summary.p90 = quantile(sorted, 0.9), summary.p99 = quantile(sorted, 0.99);
    return summary;
  }
  // A rate decreases with time, so percentiles are exchanged (p90 of the rate is p10 of the time), and the mean rate is
  // computed from the mean time.
  const auto rate = [&](double time) { return metric.numerator / time; };
  if (metric.per_call) summary.p90 = rate(quantile(sorted, 0.1)), summary.p99 = rate(quantile(sorted, 0.01));
  summary.mean = rate(*summary.mean), summary.p50 = rate(*summary.p50);
  summary.min = rate(samples.max()), summary.max = rate(samples.min());
  if (interval) summary.ci_low = rate(interval->high), summary.ci_high = rate(interval->low);
  return summary;
}

std::string Result::metrics_json(bool with_samples) const {
  return json::array(metrics, [&](const Metric& metric) {
    const Summary s = summary(metric);
    json::Object object;
    object.field("name", metric.name).field("unit", metric.unit).field("better", metric.better);
    object.field("per_call", metric.per_call).field("count", s.count);
    object.field("mean", s.mean).field("min", s.min).field("max", s.max);
    object.field("p50", s.p50).field("p90", s.p90).field("p99", s.p99);
    object.field("ci_low", s.ci_low).field("ci_high", s.ci_high);
    if (!metric.from.empty()) return object.field("from", metric.from).field("samples", nullptr).text();
    object.field("from", nullptr);
    if (!with_samples) return object.field("samples", nullptr).text();

    const auto number = [](double sample) { return json::value(sample); };
    if (metric.samples.count() <= most_written)
      return object.raw("samples", json::array(metric.samples.kept(), number)).text();
    std::vector<double> sorted(metric.samples.kept().begin(), metric.samples.kept().end()), quantiles;
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < most_written; ++i)
      quantiles.push_back(quantile(sorted, static_cast<double>(i) / (most_written - 1)));
    return object.raw("samples", json::array(quantiles, number)).text();
  });
}

std::string Result::tables_json() const {
  return json::array(tables, [](const Table& table) {
    const auto axis = [](const Table::Axis& a) {
      const auto text = [](const std::string& value) { return json::quoted(value); };
      return json::Object().field("name", a.name).raw("values", json::array(a.values, text)).text();
    };
    json::Object object;
    object.field("name", table.name).field("unit", table.unit).field("better", table.better);
    object.raw("axes", json::array(table.axes, axis));
    return object.raw("values", json::array(table.values, [](double value) { return json::value(value); })).text();
  });
}

std::string Result::notes_json() const {
  json::Object object;
  for (const auto& [name, words] : notes) object.field(name, words);
  return object.text();
}

std::string Result::numbers_json() const {
  json::Object object;
  for (const auto& [name, value] : numbers) object.field(name, value);
  return object.text();
}

namespace {

// Sets the entry `name`, or appends it.
template <class T>
void put(std::vector<std::pair<std::string, T>>& entries, std::string_view name, T value) {
  const auto found = std::ranges::find(entries, name, &std::pair<std::string, T>::first);
  if (found != entries.end())
    found->second = std::move(value);
  else
    entries.emplace_back(name, std::move(value));
}

}  // namespace

void Result::note(std::string_view name, std::string words) { put(notes, name, std::move(words)); }

void Result::number(std::string_view name, double value) { put(numbers, name, value); }

}  // namespace kiviat
