#include "measure/activity.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "support/json.hpp"

namespace kiviat {
namespace {

// The kernel counts the time of processors, and of processes other than the rank, in ticks of 10 ms: over a shorter
// period the sum over processors says too little, and that of a few processes may miss two ticks.
constexpr double counted_period_s = 1, tick_error_s = 0.02;

}  // namespace

std::string Activity::json() const {
  return json::Object()
      .field("elapsed_s", elapsed_s)
      .field("processors", processors)
      .field("others", others)
      .field("steal", steal)
      .field("wait", wait)
      .field("involuntary_switches", switches)
      .text();
}

ActivityHistory::ActivityHistory(const std::vector<host::Reading>& readings) {
  std::map<std::uint64_t, std::size_t> machines;
  for (const host::Reading& reading : readings)
    machine_of_.push_back(machines.try_emplace(reading.kernel, machines.size()).first->second);
  machines_ = machines.size();
  boundaries_.push_back(boundary_of(readings));
}

ActivityHistory::Boundary ActivityHistory::boundary_of(const std::vector<host::Reading>& readings) const {
  Boundary now;
  now.machines.resize(machines_);
  for (std::size_t rank = 0; rank < readings.size(); ++rank) {
    const host::Reading& reading = readings[rank];
    Machine& machine = now.machines[machine_of_[rank]];
    machine.own_s += reading.cpu_s;
    ++machine.ranks;
    now.waited_s.push_back(reading.wait_s);
    now.switches += reading.switches;
    if (reading.processors == 0) continue;
    machine.at_s = reading.at_s, machine.processors = reading.processors;
    machine.busy_s = reading.busy_s, machine.steal_s = reading.steal_s, machine.helpers_s = reading.helpers_s;
  }
  return now;
}

Activity ActivityHistory::add(const std::vector<host::Reading>& readings) {
  Boundary now = boundary_of(readings);
  const Boundary& last = boundaries_.back();
  Activity found{NAN, NAN, NAN, NAN, NAN, now.switches - last.switches};
  // A boundary that is old enough for a period makes all older ones useless.
  const auto length_s = [&](const Boundary& since) { return now.machines[0].at_s - since.machines[0].at_s; };
  while (boundaries_.size() > 1 && length_s(boundaries_[1]) >= counted_period_s) boundaries_.pop_front();
  const Boundary& since = boundaries_.front();
  found.elapsed_s = length_s(since);
  const bool counted = found.elapsed_s >= counted_period_s;
  for (std::size_t i = 0; i < machines_ && counted; ++i) {
    const Machine &before = since.machines[i], &after = now.machines[i];
    const double elapsed_s = after.at_s - before.at_s, own_s = after.own_s - before.own_s;
    const double others_s = after.busy_s - before.busy_s - own_s - (after.helpers_s - before.helpers_s);
    const double others = std::isnan(others_s) ? NAN : std::max(0.0, others_s / elapsed_s);
    if (std::isnan(found.others) || others > found.others) found.others = others, found.processors = after.processors;
    const double stolen_s = after.steal_s - before.steal_s, wanted_s = after.busy_s - before.busy_s + stolen_s;
    if (wanted_s > 0) found.steal = std::fmax(found.steal, stolen_s / wanted_s);
  }
  // Ranks that outnumber processors wait for each other, and launchers and kiviat are no others.
  for (std::size_t rank = 0; rank < readings.size(); ++rank) {
    const Machine &before = since.machines[machine_of_[rank]], &after = now.machines[machine_of_[rank]];
    const double elapsed_s = after.at_s - before.at_s, helpers_s = after.helpers_s - before.helpers_s + tick_error_s;
    const double excess_s = now.waited_s[rank] - since.waited_s[rank] - helpers_s;
    if (after.ranks <= after.processors && elapsed_s > 0 && !std::isnan(excess_s))
      found.wait = std::fmax(found.wait, std::max(0.0, excess_s / elapsed_s));
  }
  boundaries_.push_back(std::move(now));
  return found;
}

ActivityMeter::ActivityMeter(const Session& session) : session_(session), reader_(session.world) {
  const std::vector<host::Reading> readings = gathered();
  if (session_.rank == 0 && host::ActivityReader::available()) history_.emplace(readings);
}

std::vector<host::Reading> ActivityMeter::gathered() const {
  if (!host::ActivityReader::available()) return {};
  const host::Reading mine = reader_.read();
  std::vector<host::Reading> all(session_.rank == 0 ? session_.size : 0);
  session_.group.gather(&mine, sizeof mine, all.data());
  return all;
}

std::string ActivityMeter::next() {
  const std::vector<host::Reading> readings = gathered();
  return history_ ? history_->add(readings).json() : "null";
}

}  // namespace kiviat
