// Interface between a benchmark and the harness: communicator, axes, buffers, payload checks and samplers.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmark/case.hpp"
#include "benchmark/registry.hpp"
#include "measure/buffer.hpp"
#include "measure/kernel_metrics.hpp"
#include "measure/session.hpp"
#include "measure/stopping.hpp"
#include "meters/pages.hpp"
#include "results/result.hpp"

namespace kiviat {

// Axis `progress` of all non-blocking benchmarks.
inline Axis progress_axis() {
  return {"progress", "0", "calls",
          "calls of MPI_Test during the computation, for libraries that progress in calls only", Bounds{0, 1'000'000}};
}

// Axes `root` and `shift` of benchmarks with a root, followed by `more`; see Trial::root_of.
inline std::vector<Axis> root_axes(std::vector<Axis> more = {}) {
  more.insert(more.begin(), {{"root", "0", "rank", "root of the first call", Bounds{0, largest_int - 1}},
                             {"shift", "0", "ranks",
                              "root of call i is root + shift * i, modulo the ranks; in mode pallas2 "
                              "1 unless given, as Pallas 2.2.1 rotated",
                              Bounds{0, largest_int}}});
  return more;
}

// Expected data: bytes [offset, offset + length) of `sender`'s message arrive at position `at` of a buffer.
struct Piece {
  std::size_t at, length;
  int sender;
  std::size_t offset = 0;
};

// The ranks for which a barrier must be seen to wait, four at most: a stage of it may concern some ranks only, such as
// those of the last node.
std::set<int> late_ranks(int ranks, std::uint64_t seed);

// One run of a benchmark: passed to its function, which declares buffers and expected data and then calls one sampler.
class Trial {
 public:
  // Collective over `members`, the participating ranks. Throws UsageError or Skip on all of them.
  Trial(const Case& spec, const Benchmark& benchmark, Session& session, MPI_Comm members);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // --- ranks and parameters -------------------------------------------------------------------
  MPI_Comm comm() const { return comm_; }  // of this rank's group (all members unless the case has `group`)
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  std::int64_t bytes() const { return bytes_; }
  int count() const;  // bytes() as an MPI count; throws Skip if it exceeds int
  // Converts `number` to the int of an MPI count; throws Skip, which calls it `what`, if it does not fit. To be called
  // before buffers are allocated.
  static int fitting(std::int64_t number, std::string_view what);
  // Root of the given call: root + shift * call, modulo the number of ranks.
  int root_of(std::int64_t call) const {
    return shift_ == 0 ? root_ : static_cast<int>((root_ + shift_ * (call % ranks_)) % ranks_);
  }
  bool may_be_root() const { return shift_ != 0 || rank_ == root_; }  // whether this rank is the root of some call
  // Value of an axis, or its default. integer() throws UsageError if it is not a whole number.
  std::int64_t integer(std::string_view axis) const;
  int count_of(std::string_view axis) const { return static_cast<int>(integer(axis)); }  // of axes whose bounds fit
  std::string text(std::string_view axis) const;
  // Declares the number of busy threads of each rank: the result is marked if there are fewer processors.
  void uses_threads(int threads) { result_.oversubscribed = threads > session_.processors_per_rank; }

  // --- buffers and expected data -----------------------------------------------------------------
  // Allocates a message buffer of `bytes`, valid as long as the trial. Allocation failures skip the case later.
  Buffer& buffer(std::size_t bytes);
  // As buffer(), but always the same memory, for data that is only checked; empty if there are no checks.
  Buffer& checked_buffer(std::size_t bytes);
  void sends(Buffer& buffer) { sends(buffer, buffer.first().size()); }
  // Declares a send buffer: checks fill its first `bytes` with this rank's payload, from `offset` on.
  void sends(Buffer& buffer, std::size_t bytes, std::size_t offset = 0);
  // Declare the bytes that must arrive; floats that this rank contributes to a sum; and the sums over all ranks that
  // must arrive, from element `first` of the vector on.
  void expects(Buffer& buffer, std::vector<Piece> pieces);
  void contributes(Buffer& buffer, std::size_t elements);
  void expects_sum(Buffer& buffer, std::size_t elements, std::size_t first = 0);
  // Has `declare` make these declarations for a given root. Checks look at calls of several roots if roots change.
  void by_root(std::function<void(int root)> declare);
  // Replaces the payload check, for operations without payload: `check` returns whether the operation worked.
  // Collective.
  void check_by(std::function<bool()> check) { custom_check_ = std::move(check); }
  // Returns whether `operation` synchronises: no rank leaves it before a delayed rank has entered. Collective.
  bool separates(const std::function<void()>& operation);

  // --- sampling: a benchmark calls exactly one of these ---------------------------------------------
  using Operation = std::function<void(std::int64_t call)>;

  struct Batch {
    double divisor = 1;      // operations in one call: time = elapsed / divisor
    double messages = 0;     // bandwidth = messages * bytes / time, message rate = messages / time
    bool initiator = false;  // rank 0's clock alone (a round trip synchronises itself)
    double least_s = 20e-6;  // minimum duration of a batch
    Operation check = {};    // what checks call instead, where the timed operation hides messages behind others
  };
  // Times batches of calls of `operation`, long enough that reading the clock costs less than 1 %.
  template <class Op>
  void batched(Op operation) {
    batched(std::move(operation), Batch{});
  }
  template <class Op>
  void batched(Op operation, const Batch& how) {
    batched_loops(
        [&](std::int64_t first, std::int64_t calls) {
          for (std::int64_t i = first; i < first + calls; ++i) operation(i);
        },
        how);
  }
  // As batched(), but the benchmark executes the loop over `calls` calls itself.
  using Loop = std::function<void(std::int64_t first, std::int64_t calls)>;
  void batched_loops(const Loop& loop, const Batch& how);
  struct Calls {
    double divisor = 1;           // operations in one call: time = elapsed / divisor
    bool timed = true;            // this rank's time counts; in a round trip, only the initiator's does
    std::size_t min_samples = 0;  // default of the control of this name: percentiles need more samples than a median
  };
  // Times each call separately, from the first start to the last exit, after a common start of all ranks. Round trips
  // (Sampling::round_trips) synchronise themselves: they follow each other, and the slowest timed rank counts.
  void per_call(Operation operation, Calls how);
  void per_call(Operation operation) { per_call(std::move(operation), Calls{}); }
  // Times a non-blocking operation, started by `start`: alone, computation alone, and both overlapped.
  using Start = std::function<MPI_Request(std::int64_t call)>;
  void overlapped(Start start);

  // Runs the procedure of a study, which delivers results by report() and table(). Throws Skip in mode pallas2.
  void study(const std::function<void()>& procedure);
  // Adds a value of a metric declared in Traits::reports. Only rank 0 of all members is recorded. Throws
  // std::logic_error if the metric is not declared.
  void report(std::string_view quantity, double value);
  Table& table(std::string name, std::string unit, std::string better, std::vector<Table::Axis> axes);
  // Records a fact as text: the library used, an automatic choice, the reason why a value is unavailable. Replaces an
  // earlier note of that name. Only rank 0 of all members is recorded.
  void note(std::string_view name, std::string words) { result_.note(name, std::move(words)); }
  // Records a number used by reports, such as the problem size (Traits::problem). Only rank 0 of all members is
  // recorded.
  template <class T>
  void number(std::string_view name, T value) {
    result_.number(name, static_cast<double>(value));
  }
  // Within a study: checks the payload of `operation` as declared by sends(), expects(), … since the last
  // forget_payload(), and records the verdict. Returns it. Collective.
  bool verify(const Operation& operation);
  // The same, now and again when the study has ended; what `operation` refers to must exist until then. Returns the
  // verdict of now.
  bool verify_twice(Operation operation);
  void forget_payload() { payload_ = {}; }
  // Within a study: records the verdict of its own check, whose result may differ between ranks; `reason` describes the
  // error if not `good`. The reason of the lowest failing rank is kept. Returns whether all ranks are good. Collective.
  bool confirm(bool good, const std::string& reason);
  // Throws Skip if the case wants rotating buffers, which what is named by `who` cannot use.
  void refuse_rotation(std::string_view who) const;
  // Returns whether all calls take equally long, so that one is enough (mode once).
  bool deterministic() const { return result_.mode == "once"; }
  // Within a study: returns the time in seconds of `calls` calls of `operation` after a common start, of the slowest
  // rank. `idle` ranks, whose operation does nothing, sleep meanwhile. Collective.
  double seconds_of(std::int64_t calls, const Operation& operation, bool idle = false);
  // Within a study: runs and times one kernel as seconds_of() does, and records its energy and counters if available.
  // A further call with the same name is a repetition of that kernel, and the result contains the mean over them; or it
  // adds to the last repetition.
  enum class Repetition { next, last };
  double measured(std::string_view kernel, const std::function<void()>& work, bool idle = false,
                  Repetition repetition = Repetition::next);
  // Returns the number of calls, 1 to `most`, that take about `seconds`, determined by timing; equal on all ranks.
  // Collective.
  std::int64_t calls_lasting(double seconds, std::int64_t most, const Operation& operation, bool idle = false);
  double worst(double value) const { return members_.maximum(value); }  // maximum over all members
  const RankGroup& members() const { return members_; }
  void together() { members_.barrier(); }  // barrier over all members
  void together(bool idle) {
    members_.barrier(idle);
  }  // barrier over all members; `idle` ranks sleep and leave processor and memory to the others
  std::uint64_t seed() const { return seed_; }  // seed of the case; differs between groups
  const Session& session() const { return session_; }
  void progressed(double share) const;  // reports the completed share of a long study, 0 to 1

  Result take_result() { return std::move(result_); }

 private:
  Buffer& allocated(std::size_t bytes, std::size_t rotate_bytes);
  void begin(const Operation& operation);   // set-up on all ranks, first payload check
  void finish(const Operation& operation);  // second payload check
  bool payload_arrives(const Operation& operation);
  void look_at(const Operation& operation, std::int64_t call, std::ostream& wrong);  // appends the first error
  bool judged(bool good);                    // records the verdict of a study's check
  bool all_agree(const std::string& wrong);  // returns whether `wrong` is empty on all ranks; else sets the reason
  void sample_until_stopped(
      double sample_s, const Metric& primary, const std::function<void(std::int64_t)>& sample_block,
      const std::function<bool()>& given_up = [] { return false; });
  Metric& add_metric(std::string name, const char* unit, const char* better, bool per_call);
  // With report=all, adds the times of every group, computed from those of its ranks where `counts` is true.
  // Collective.
  void add_group_times(std::span<const double> mine, const std::vector<bool>& counts, double divisor);
  void derive_rates(double messages);
  GlobalClock& common_clock();  // of all members. Collective
  void refuse_missing_memory();
  void refuse_fewer_threads() const;

  const Case& spec_;
  const Benchmark& benchmark_;
  Session& session_;
  MPI_Comm all_, comm_;
  RankGroup members_;
  int all_rank_ = 0, all_ranks_ = 1, rank_ = 0, ranks_ = 1;
  std::int64_t bytes_ = 0;
  int root_ = 0, shift_ = 0;
  std::int64_t iterations_, warmup_;  // used in modes fixed and pallas2
  std::uint64_t seed_, payload_seed_;
  Limits limits_;
  double started_s_;
  Result result_;
  std::unique_ptr<KernelLog> kernels_;  // created by the first measured kernel
  std::optional<pages::Small> small_pages_;
  std::unique_ptr<GlobalClock> clock_;  // of members that are not all ranks
  std::size_t rotated_bytes_ = 0;       // least size of a buffer that is not to stay in any member's cache

  struct Expectation {
    Buffer* buffer;
    std::vector<Piece> pieces;
  };
  struct Sum {
    Buffer* buffer;
    std::size_t elements, first;
  };
  struct Sent {
    Buffer* buffer;
    std::size_t bytes, offset;
  };
  struct Payload {
    std::vector<Sent> sent;
    std::vector<Expectation> expected;
    std::vector<Sum> contributed, sums;
  };
  std::vector<std::unique_ptr<Buffer>> buffers_;
  Payload payload_;
  std::function<void(int root)> payload_by_root_;
  std::function<bool()> custom_check_;
  std::vector<std::pair<Payload, Operation>> again_;  // what verify_twice() checks when the study has ended
};

}  // namespace kiviat
