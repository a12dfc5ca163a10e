#include "core/global_clock.hpp"

#include <algorithm>
#include <limits>

namespace kiviat {
namespace {

constexpr int round_trips = 64;
constexpr int tag = 71;
constexpr std::size_t remembered = 16;     // estimates in the fit
constexpr double shortest_baseline_s = 0.2;  // below this a slope is noise

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
        const double to_parent = offset_to_parent(rank - reach);
        const double here = local_();
        // The parent has known its own offset to rank 0 since an earlier round of this loop.
        const double moment = here + to_parent;
        double parents_offset = 0;
        MPI_Send(&moment, 1, MPI_DOUBLE, rank - reach, tag, leaders_);
        MPI_Recv(&parents_offset, 1, MPI_DOUBLE, rank - reach, tag, leaders_, MPI_STATUS_IGNORE);
        fit(here, to_parent + parents_offset);
      }
    }
  }
  double model[4] = {offset_, drift_, reference_, local_()};
  MPI_Bcast(model, 4, MPI_DOUBLE, 0, node_);
  offset_ = model[0], drift_ = model[1], reference_ = model[2], last_ = model[3];
}

double GlobalClock::offset_to_parent(int parent) {
  double best_trip = std::numeric_limits<double>::infinity(), offset = 0;
  for (int i = 0; i < round_trips; ++i) {
    const double sent = local_();
    double theirs = 0;
    MPI_Send(&theirs, 0, MPI_DOUBLE, parent, tag, leaders_);
    MPI_Recv(&theirs, 1, MPI_DOUBLE, parent, tag, leaders_, MPI_STATUS_IGNORE);
    const double received = local_();
    if (received - sent < best_trip) {
      best_trip = received - sent;
      offset = theirs - 0.5 * (sent + received);
    }
  }
  return offset;
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

void GlobalClock::fit(double local_s, double offset_s) {
  if (estimates_.size() == remembered) estimates_.erase(estimates_.begin());
  estimates_.push_back({local_s, offset_s});
  reference_ = local_s;
  if (local_s - estimates_.front().local_s < shortest_baseline_s) {
    offset_ = offset_s;
    drift_ = 0;
    return;
  }
  double t = 0, o = 0, tt = 0, to = 0;
  const double n = static_cast<double>(estimates_.size());
  for (const Estimate& e : estimates_) t += e.local_s / n, o += e.offset_s / n;
  for (const Estimate& e : estimates_) {
    tt += (e.local_s - t) * (e.local_s - t);
    to += (e.local_s - t) * (e.offset_s - o);
  }
  drift_ = to / tt;
  offset_ = o + drift_ * (local_s - t);
}

}  // namespace kiviat
