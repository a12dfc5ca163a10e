// Checks of a trial outside the timed region: every payload must arrive intact, before and after sampling.
#include <algorithm>
#include <sstream>

#include "measure/payload.hpp"
#include "measure/trial.hpp"
#include "support/failure.hpp"

namespace kiviat {
namespace {

std::span<float> floats(Buffer& buffer, std::size_t count) {
  return {reinterpret_cast<float*>(buffer.first().data()), count};
}

}  // namespace

// Throws Skip on all ranks if any rank lacks a buffer. Collective.
void Trial::refuse_missing_memory() {
  const bool missing = std::ranges::any_of(buffers_, [](const auto& buffer) { return !buffer->allocated(); });
  if (worst(missing) > 0) {
    std::size_t wanted = 0;
    for (const auto& buffer : buffers_) wanted += buffer->total_bytes();
    throw Skip("buffers of " + std::to_string(static_cast<long long>(worst(static_cast<double>(wanted)))) +
               " B per rank do not fit into the available memory; give a smaller message size or fewer ranks per node");
  }
  if (!host::carries_payload()) return;
  for (const auto& buffer : buffers_) buffer->touch();
}

void Trial::begin(const Operation& operation) {
  refuse_missing_memory();
  if (!host::carries_payload()) {
    result_.check_reason = payload::not_moved;
    return;
  }
  const bool nothing_to_see = !custom_check_ && ((payload_.expected.empty() && payload_.sums.empty()) || bytes_ == 0);
  if (worst(!nothing_to_see) == 0) {
    result_.check_reason = "no payload";
    return;
  }
  result_.check = payload_arrives(operation) ? "passed" : "failed";
}

void Trial::finish(const Operation& operation) {
  if (result_.check == "passed" && !payload_arrives(operation)) result_.check = "failed";
  if (result_.check == "failed") {
    result_.outcome = "failed", result_.phase = "check";
    result_.reason = result_.check_reason;
  } else if (all_rank_ == 0 && result_.metrics.front().samples.count() == 0) {
    result_.outcome = "failed", result_.phase = "timing";
    result_.reason = "no sample within the time budget (budget_s)";
  }
  result_.elapsed_s = clock::now() - started_s_;
}

bool Trial::payload_arrives(const Operation& operation) {
  std::ostringstream wrong;
  if (custom_check_) {
    if (!custom_check_()) wrong << "rank " << all_rank_ << ": the operation did not have the required effect";
    return all_agree(wrong.str());
  }
  constexpr int most_roots = 4;
  const int calls = payload_by_root_ && shift_ != 0 ? std::min(ranks_, most_roots) : 1;
  for (int call = 0; call < calls; ++call) look_at(operation, call, wrong);
  for (const auto& buffer : buffers_) buffer->rewind();
  return all_agree(wrong.str());
}

void Trial::look_at(const Operation& operation, std::int64_t call, std::ostream& wrong) {
  ++payload_seed_;  // invalidates data left by the last check
  if (payload_by_root_) payload_ = {}, payload_by_root_(root_of(call));
  for (const auto& buffer : buffers_) buffer->rewind();
  for (const Sent& sent : payload_.sent)
    payload::fill(sent.buffer->first().first(sent.bytes), payload_seed_, rank_, sent.offset);
  for (const Sum& sum : payload_.contributed)
    payload::fill_addends(floats(*sum.buffer, sum.elements), payload_seed_, rank_);
  for (const Expectation& e : payload_.expected)
    for (const Piece& piece : e.pieces)
      payload::poison(e.buffer->first().subspan(piece.at, piece.length), payload_seed_, piece.sender, piece.offset);
  for (const Sum& sum : payload_.sums)
    payload::poison_sums(floats(*sum.buffer, sum.elements), payload_seed_, ranks_, sum.first);

  together();
  operation(call);

  for (const Expectation& e : payload_.expected)
    for (const Piece& piece : e.pieces) {
      const auto at = payload::first_wrong(e.buffer->first().subspan(piece.at, piece.length), payload_seed_,
                                           piece.sender, piece.offset);
      if (at < piece.length && wrong.tellp() == 0)
        wrong << "rank " << all_rank_ << ": byte " << at << " of " << piece.length << " from rank " << piece.sender
              << " is wrong";
    }
  for (const Sum& sum : payload_.sums) {
    const auto at = payload::first_wrong_sum(floats(*sum.buffer, sum.elements), payload_seed_, ranks_, sum.first);
    if (at < sum.elements && wrong.tellp() == 0)
      wrong << "rank " << all_rank_ << ": element " << at << " of " << sum.elements << " is not the sum over the ranks";
  }
}

bool Trial::all_agree(const std::string& wrong) {
  const std::string reason = first_said(all_, wrong);
  if (!reason.empty()) result_.check_reason = reason;
  return reason.empty();
}

std::set<int> late_ranks(int ranks, std::uint64_t seed) {
  if (ranks <= 4) return {0, ranks / 3, ranks / 2, ranks - 1};
  return {0, ranks / 2, ranks - 1, static_cast<int>(seed % static_cast<std::uint64_t>(ranks))};
}

bool Trial::separates(const std::function<void()>& operation) {
  // The last rank enters this much later than the others; none may leave earlier. Clocks of different domains agree
  // only approximately, so half of the delay is tolerated; an operation that does not synchronise is off by the whole
  // delay.
  constexpr double delay_s = 200e-6;
  GlobalClock& global = common_clock();
  global.refresh();
  const double slack_s = global.shared() ? 0 : delay_s / 2;
  bool separated = true;
  for (const int late : late_ranks(ranks_, seed_)) {
    MPI_Barrier(comm_);
    if (rank_ == late) clock::wait_until(clock::now() + delay_s);
    const double entered = global.to_global(clock::now());
    operation();
    const double left = global.to_global(clock::now());
    double last_entered, first_left;
    MPI_Allreduce(&entered, &last_entered, 1, MPI_DOUBLE, MPI_MAX, comm_);
    MPI_Allreduce(&left, &first_left, 1, MPI_DOUBLE, MPI_MIN, comm_);
    separated = separated && first_left + slack_s >= last_entered;
  }
  return separated;
}

}  // namespace kiviat
