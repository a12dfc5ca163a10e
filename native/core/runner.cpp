#include "core/runner.hpp"

#include <unistd.h>

#include "core/failure.hpp"
#include "core/registry.hpp"
#include "core/trial.hpp"

namespace kiviat {
namespace {

// The ranks that take part: the first ones, or 0 and `distance`.
struct Members {
  int ranks, stride = 1;
  int last() const { return (ranks - 1) * stride; }
  bool contain(int rank) const { return rank <= last() && rank % stride == 0; }
};

Members members_of(const Case& spec, const Benchmark& benchmark, int world) {
  const RankRule& rule = benchmark.traits.ranks;
  const auto group = static_cast<int>(spec.integer("group", 0));
  const int natural = group || !rule.max ? world / rule.multiple * rule.multiple : std::min(rule.max, world);
  const Members members{static_cast<int>(spec.integer("ranks", natural)), static_cast<int>(spec.integer("distance", 1))};
  if (members.ranks < 1 || members.stride < 1) throw UsageError("ranks and distance must be at least 1");
  if (members.last() >= world)
    throw Skip("needs " + std::to_string(members.last() + 1) + " ranks, the launch has " + std::to_string(world));
  return members;
}

// A barrier in which idle ranks sleep instead of spinning on memory that others are measuring.
void wait_for_all(MPI_Comm world, bool idle) {
  MPI_Request request;
  MPI_Ibarrier(world, &request);
  if (idle) {
    for (int done = 0; !done; usleep(300)) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  } else {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

}  // namespace

Outcome run_case(const Case& spec, Session& session) {
  Outcome outcome;
  outcome.benchmark = spec.benchmark;
  const auto end_as = [&](const char* how, const std::exception& why) {
    outcome.result.outcome = how, outcome.result.phase = "setup", outcome.result.reason = why.what();
    outcome.result.check_reason = "did not run";
    outcome.result.metrics.clear();
  };
  MPI_Comm members_comm = MPI_COMM_NULL;
  bool member = true;
  try {
    const Benchmark& benchmark = find_benchmark(spec.benchmark);
    outcome.benchmark = benchmark.name, outcome.sized = benchmark.traits.sized;
    session.global_clock.refresh();
    const Members members = members_of(spec, benchmark, session.size);
    outcome.ranks = members.ranks;
    member = members.contain(session.rank);
    MPI_Comm_split(session.world, member ? 0 : MPI_UNDEFINED, session.rank, &members_comm);
    if (member) {
      Trial trial(spec, benchmark, session, members_comm);
      benchmark.run(trial);
      outcome.result = trial.take_result();
    }
  } catch (const Skip& why) {
    end_as("skipped", why);
  } catch (const UsageError& why) {
    end_as("failed", why);
  }
  if (members_comm != MPI_COMM_NULL) MPI_Comm_free(&members_comm);
  wait_for_all(session.world, !member);
  return outcome;
}

}  // namespace kiviat
