// Simulates only the first iterations of a loop: some fill the pipelines, the next ones are watched, and the rest is
// extrapolated from the watched ones. Differences between ranks at that point remain.
#include "platform/steady_state.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <simgrid/s4u/Actor.hpp>
#include <utility>

#include "platform/clock.hpp"
#include "platform/node.hpp"
#include "simgrid/sent.hpp"

namespace kiviat {
namespace {

Sent& sent() { return *simgrid::s4u::this_actor::get_host()->get_data<Sent>(); }

// Looks up a function of the preloaded profiler, whose counts are extrapolated like messages; null without it.
template <class Function>
Function* of_profiler(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

struct SteadyState::Before {
  Sent sent;
};

// With 16 and 16 the time of SP, class W, on 16 ranks is off by 0.01 %; with 12 and 12 by 0.1 %.
SteadyState::SteadyState(MPI_Comm comm, std::int64_t passes, std::int64_t filling, std::int64_t watched)
    : comm_(comm),
      passes_(passes),
      made_(host::carries_payload() ? passes : std::min(passes, filling + watched)),
      settled_(filling),
      watched_(watched) {}

void SteadyState::watch() {
  since_s_ = clock::now();
  before_ = std::make_shared<Before>(Before{sent()});
  static auto* const watch = of_profiler<void()>("kiviat_profiler_watch");
  if (watch) watch();
}

double SteadyState::account_for_skipped() {
  if (made_ == passes_) return 0;
  const auto left = static_cast<double>(passes_ - made_), watched = static_cast<double>(watched_);
  const double until_s = clock::now();
  Sent after = sent();
  // Returns the time with messages in flight, extrapolated to all iterations.
  const auto prolonged_s = [&](UnderWay Sent::* where) {
    const double now_s = (after.*where).until(until_s), then_s = (before_->sent.*where).until(since_s_);
    return now_s + left * (now_s - then_s) / watched;
  };
  const double network_s = prolonged_s(&Sent::network), node_s = prolonged_s(&Sent::node);
  for (auto& [to, total] : after.to) {
    const auto found = before_->sent.to.find(to);
    const Sent::Total before = found == before_->sent.to.end() ? Sent::Total{} : found->second;
    total.messages += left * (total.messages - before.messages) / watched;  // an integer if all iterations send equally
    total.bytes += left * (total.bytes - before.bytes) / watched;
  }
  // Ranks that wait for each other progress equally fast in the long run, so all use the mean duration. The allreduce
  // is not part of the program: its messages are not counted, and it takes less time than is skipped.
  int ranks;
  double duration_s = until_s - since_s_;
  MPI_Comm_size(comm_, &ranks);
  PMPI_Allreduce(MPI_IN_PLACE, &duration_s, 1, MPI_DOUBLE, MPI_SUM, comm_);
  sent().to = std::move(after.to);
  sent().network.reset(network_s, clock::now()), sent().node.reset(node_s, clock::now());
  static auto* const repeat = of_profiler<void(double)>("kiviat_profiler_repeat");
  if (repeat) repeat(left / watched);
  clock::wait_until(until_s + left * duration_s / ranks / watched);
  return left / watched;
}

std::string SteadyState::words() const {
  if (made_ == passes_) return "";
  return std::to_string(made_) + " of " + std::to_string(passes_) +
         " simulated, the others extrapolated from the last " + std::to_string(watched_);
}

}  // namespace kiviat
