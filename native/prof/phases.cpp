#include "prof/phases.hpp"

#include <algorithm>
#include <cmath>

#include "platform/clock.hpp"
#include "support/json.hpp"

namespace kiviat::prof {

Phases::Phases(std::unique_ptr<CounterSource> counters, std::unique_ptr<energy::Reader> energy)
    : counters_(std::move(counters)), energy_(std::move(energy)) {
  if (energy_) counters_->lead();
}

Phases::Phase& Phases::phase(int number) {
  const auto found = std::ranges::find(phases_, number, &Phase::number);
  return found != phases_.end() ? *found : phases_.emplace_back(Phase{number});
}

void Phases::enter(int number) {
  leave();
  now_ = number;
  if (number == 0) return;
  phase(number);
  if (counters_->any()) counters_->prepare();
  if (energy_) energy_->start();
  entered_s_ = clock::now();
  if (counters_->any()) counters_->enable();
}

void Phases::leave() {
  if (now_ == 0) return;
  Phase& left = phase(now_);
  if (counters_->any()) counters_->disable();
  left.seconds += clock::now() - entered_s_;
  if (counters_->any()) {
    left.counted.add(counters_->counts());
    if (const auto traffic = energy_ ? counters_->traffic() : std::nullopt) {
      left.counted.has_traffic = true;
      left.counted.traffic.read_bytes += traffic->read_bytes,
          left.counted.traffic.written_bytes += traffic->written_bytes;
    }
  }
  if (!energy_) return;
  energy_->stop();
  const auto& sources = energy_->sources();
  energy::Spent& spent = left.spent;
  if (spent.joules.empty()) spent.joules.assign(sources.size(), 0.0), spent.trouble.resize(sources.size());
  spent.seconds += energy_->seconds();
  for (std::size_t at = 0; at < sources.size(); ++at) {
    // If one interval cannot be read, the sum is unknown.
    const auto joules = sources[at]->joules();
    if (joules && spent.joules[at])
      *spent.joules[at] += *joules;
    else
      spent.joules[at].reset();
    if (!joules || *joules <= 0) spent.trouble[at] = sources[at]->trouble();
  }
}

std::string Phases::json() const {
  std::string words = "{\"phases\":" + json::array(phases_, [](const Phase& one) { return json::value(one.number); });
  words += ",\"seconds\":" + json::array(phases_, [](const Phase& one) { return json::value(one.seconds); });
  words += ",\"counters\":{\"words\":" + json::value(counters_->words()) + ",\"values\":{";
  bool any = false;
  for (std::size_t name = 0; name < counter_names.size(); ++name) {
    if (std::ranges::none_of(phases_, [&](const Phase& one) { return one.counted.times[name] > 0; })) continue;
    words += std::string(any ? "," : "") + json::quoted(counter_names[name]) + ':';
    words += json::array(
        phases_, [&](const Phase& one) { return json::value(one.counted.times[name] ? one.counted.sums[name] : NAN); });
    any = true;
  }
  words += "},\"least_share\":" +
           json::array(phases_, [](const Phase& one) { return json::value(one.counted.least_share); });
  const auto traffic = [&](auto bytes) {
    return json::array(phases_, [&](const Phase& one) {
      return json::value(one.counted.has_traffic ? one.counted.traffic.*bytes : NAN);
    });
  };
  words += ",\"read_bytes\":" + traffic(&Traffic::read_bytes) +
           ",\"written_bytes\":" + traffic(&Traffic::written_bytes) + '}';
  return words + (energy_ ? ",\"energy\":" + energy_json() : "") + '}';
}

std::string Phases::energy_json() const {
  std::vector<energy::Kernel> kernels;
  std::vector<energy::Spent> spent;
  for (const Phase& one : phases_) {
    kernels.push_back({"phase " + std::to_string(one.number), 1, one.seconds});
    spent.push_back(one.spent);
  }
  const energy::Account account =
      energy_->sources().empty() ? energy::account(*energy_, {}, {}) : energy::account(*energy_, kernels, spent);
  const auto number = [](double value) { return json::value(value); };
  std::string words = "{\"words\":" + json::value(account.words) + ",\"joules\":" + json::array(account.joules, number);
  words += ",\"watts\":" + json::array(account.watts, number) + ",\"parts\":{";
  for (const auto& part : account.parts) {
    if (&part != &account.parts.front()) words += ',';
    words += json::quoted(part.name) + ':' + json::array(part.joules, number);
  }
  return words + "}}";
}

}  // namespace kiviat::prof
