#include "driver/runner.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "benchmark/registry.hpp"
#include "measure/trial.hpp"
#include "support/failure.hpp"

namespace kiviat {
namespace {

// The participating ranks: the first ones, or ranks 0 and `distance`.
struct Members {
  std::int64_t ranks, stride = 1;
  std::int64_t last() const { return (ranks - 1) * stride; }
  bool contain(int rank) const { return rank % stride == 0 && rank / stride < ranks; }
  // Communicator of the members; null on other ranks. All ranks know the members, so no MPI_Comm_split is needed, which
  // would exchange messages to determine them.
  MPI_Comm of(MPI_Comm world) const {
    int range[][3] = {{0, static_cast<int>(last()), static_cast<int>(stride)}};
    MPI_Group all, group;
    MPI_Comm comm;
    MPI_Comm_group(world, &all);
    MPI_Group_range_incl(all, 1, range, &group);
    MPI_Comm_create(world, group, &comm);
    MPI_Group_free(&group), MPI_Group_free(&all);
    return comm;
  }
};

Members members_of(const Case& spec, const Benchmark& benchmark, int world) {
  RankRule rule = benchmark.traits.ranks;
  if (const std::int64_t group = spec.integer("group", 0); group > 0 && group <= largest_int)
    rule = {.min = static_cast<int>(group), .multiple = static_cast<int>(group)};  // the rule holds for each group
  // Uses the largest allowed number of ranks; if none is allowed, those available, so that the trial reports what is
  // needed.
  const int natural = std::max(rule.most(world), std::min(world, rule.min));
  const std::int64_t ranks = spec.integer("ranks", natural);
  if (ranks < 1 || ranks > largest_int)
    throw UsageError("ranks=" + std::to_string(ranks) + ": give 1 to " + std::to_string(largest_int));
  const std::optional<Axis> distance = benchmark.axis("distance");  // Trial refuses it where there is no such axis
  if (distance) distance->check(spec.text("distance", distance->fallback));
  return {ranks, distance ? spec.integer("distance", 1) : 1};
}

}  // namespace

Result run_case(const Case& spec, Session& session) {
  Result result;
  std::string name = spec.benchmark;
  int ranks = session.size;
  std::optional<std::int64_t> bytes = spec.bytes();  // none if it is invalid, which the result's reason explains
  const double begun_s = clock::now();
  const auto end_as = [&](const char* how, const std::exception& why) {
    result.outcome = how, result.phase = "setup", result.reason = why.what();
    result.check_reason = "did not run";
    result.clock_cost_s = session.clock_cost_s;
    result.elapsed_s = clock::now() - begun_s;
  };
  MPI_Comm members_comm = MPI_COMM_NULL;
  bool member = true;
  try {
    const Benchmark& benchmark = find_benchmark(spec.benchmark);
    name = benchmark.name;
    if (!benchmark.traits.sized) bytes.reset();
    session.global_clock.refresh();
    const Members members = members_of(spec, benchmark, session.size);
    ranks = static_cast<int>(members.ranks);
    if (members.last() >= session.size)
      throw Skip("needs " + std::to_string(members.last() + 1) + " ranks, but the launch has " +
                 std::to_string(session.size));
    member = members.contain(session.rank);
    if (RankGroup::silent() && members.ranks == session.size) {
      members_comm = session.world;
    } else {
      members_comm = members.of(session.world);
      session.group.barrier();  // waits until the messages of other ranks' splits have arrived
    }
    if (member) {
      Trial trial(spec, benchmark, session, members_comm);
      benchmark.run(trial);
      result = trial.take_result();
    }
  } catch (const Skip& why) {
    end_as("skipped", why);
  } catch (const UsageError& why) {
    end_as("failed", why);
  }
  if (members_comm != session.world && members_comm != MPI_COMM_NULL) MPI_Comm_free(&members_comm);
  session.group.barrier(!member);
  result.benchmark = std::move(name), result.ranks = ranks, result.bytes = bytes;
  result.oversubscribed |= session.oversubscribed;
  return result;
}

}  // namespace kiviat
