#include "platform/global_clock.hpp"

#include <algorithm>
#include <limits>

namespace kiviat {
namespace {

constexpr int round_trips = 64;
constexpr int tag = 71;
constexpr std::size_t remembered = 16;  // maximum number of estimates in the fit
constexpr double shortest_baseline_s =
    0.2;  // minimum time span for fitting a drift; over shorter spans it would be noise

}  // namespace

GlobalClock::GlobalClock(MPI_Comm comm, unsigned long domain, Reading local) : local_(local), started_(local()) {
  MPI_Comm_dup(comm, &comm_);
  int rank, size;
  MPI_Comm_rank(comm_, &rank);
  MPI_Comm_size(comm_, &size);

  // A domain's colour is the lowest rank in it: hashes are too wide for MPI_Comm_split.
  std::vector<unsigned long> domains(size);
  MPI_Allgather(&domain, 1, MPI_UNSIGNED_LONG, domains.data(), 1, MPI_UNSIGNED_LONG, comm_);
  const int colour = static_cast<int>(std::find(domains.begin(), domains.end(), domain) - domains.begin());
  MPI_Comm_split(comm_, colour, rank, &node_);
  MPI_Comm_split(comm_, colour == rank ? 0 : MPI_UNDEFINED, rank, &leaders_);
  shared_ = std::all_of(domains.begin(), domains.end(), [&](auto d) { return d == domains[0]; });
  refresh(-1);
}

GlobalClock::~GlobalClock() {
  if (leaders_ != MPI_COMM_NULL) MPI_Comm_free(&leaders_);
  MPI_Comm_free(&node_);
  MPI_Comm_free(&comm_);
}

double GlobalClock::to_local(double global_s) const {
  // Inverts global = local + offset + drift * (local - reference).
  return (global_s - offset_ + drift_ * reference_) / (1 + drift_);
}

void GlobalClock::refresh(double age_s) {
  if (shared_) return;
  int stale = local_() - last_ > std::min(age_s, std::max(0.05, 0.5 * (last_ - started_)));
  MPI_Bcast(&stale, 1, MPI_INT, 0, comm_);
  if (!stale) return;

  if (leaders_ != MPI_COMM_NULL) {
    int rank, size;
    MPI_Comm_rank(leaders_, &rank);
    MPI_Comm_size(leaders_, &size);
    for (int reach = 1; reach < size; reach *= 2) {
      if (rank < reach && rank + reach < size) answer_child(rank + reach);
      if (rank >= reach && rank < 2 * reach) {
        const Estimate to_parent = offset_to_parent(rank - reach);
        // The parent obtained its own offset to rank 0 in an earlier round of this loop.
        const double moment = to_parent.local_s + to_parent.offset_s;
        double parents_offset = 0;
        MPI_Send(&moment, 1, MPI_DOUBLE, rank - reach, tag, leaders_);
        MPI_Recv(&parents_offset, 1, MPI_DOUBLE, rank - reach, tag, leaders_, MPI_STATUS_IGNORE);
        fit({to_parent.local_s, to_parent.offset_s + parents_offset, to_parent.trip_s});
      }
    }
  }
  double model[4] = {offset_, drift_, reference_, local_()};
  MPI_Bcast(model, 4, MPI_DOUBLE, 0, node_);
  offset_ = model[0], drift_ = model[1], reference_ = model[2], last_ = model[3];
}

GlobalClock::Estimate GlobalClock::offset_to_parent(int parent) {
  Estimate best{0, 0, std::numeric_limits<double>::infinity()};
  for (int i = 0; i < round_trips; ++i) {
    const double sent = local_();
    double theirs = 0;
    MPI_Send(&theirs, 0, MPI_DOUBLE, parent, tag, leaders_);
    MPI_Recv(&theirs, 1, MPI_DOUBLE, parent, tag, leaders_, MPI_STATUS_IGNORE);
    const double received = local_();
    if (received - sent < best.trip_s) {
      // The offset holds at the time of this round trip, not at the end of all: clocks drift meanwhile.
      best = {0.5 * (sent + received), theirs - 0.5 * (sent + received), received - sent};
    }
  }
  return best;
}

void GlobalClock::answer_child(int child) {
  for (int i = 0; i < round_trips; ++i) {
    double mine = 0;
    MPI_Recv(&mine, 0, MPI_DOUBLE, child, tag, leaders_, MPI_STATUS_IGNORE);
    mine = local_();
    MPI_Send(&mine, 1, MPI_DOUBLE, child, tag, leaders_);
  }
  double moment = 0;
  MPI_Recv(&moment, 1, MPI_DOUBLE, child, tag, leaders_, MPI_STATUS_IGNORE);
  const double offset = offset_at(moment);
  MPI_Send(&offset, 1, MPI_DOUBLE, child, tag, leaders_);
}

void GlobalClock::fit(const Estimate& latest) {
  if (estimates_.size() == remembered) estimates_.erase(estimates_.begin());
  estimates_.push_back(latest);
  reference_ = latest.local_s;
  if (latest.local_s - estimates_.front().local_s < shortest_baseline_s) {
    offset_ = latest.offset_s;
    drift_ = 0;
    return;
  }
  // The error of an offset is bounded by half of its round trip, so slow round trips (preempted rank, busy network) get
  // small weights.
  const auto weight = [](const Estimate& e) { return 1 / std::max(e.trip_s * e.trip_s, 1e-18); };
  double n = 0, t = 0, o = 0, tt = 0, to = 0;
  for (const Estimate& e : estimates_) n += weight(e);
  for (const Estimate& e : estimates_) {
    t += weight(e) / n * (e.local_s - reference_);
    o += weight(e) / n * (e.offset_s - latest.offset_s);
  }
  for (const Estimate& e : estimates_) {
    const double dt = e.local_s - reference_ - t, d_offset = e.offset_s - latest.offset_s - o;
    tt += weight(e) * dt * dt;
    to += weight(e) * dt * d_offset;
  }
  drift_ = to / tt;
  offset_ = latest.offset_s + o - drift_ * t;
}

}  // namespace kiviat
