// Interface of a benchmark: its communicator, axes, buffers and samplers.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/case.hpp"
#include "benchmark/registry.hpp"
#include "measure/buffer.hpp"
#include "measure/kernel_metrics.hpp"
#include "measure/session.hpp"
#include "measure/stopping.hpp"
#include "results/result.hpp"

namespace kiviat {

// The axis of all non-blocking benchmarks.
inline Axis progress_axis() {
  return {"progress", "0", "calls",
          "calls of MPI_Test during the computation, for libraries that progress in calls only"};
}

// The axes of all benchmarks with a root, before `more` of their own: see Trial::root_of.
inline std::vector<Axis> root_axes(std::vector<Axis> more = {}) {
  more.insert(more.begin(), {{"root", "0", "rank", "root of the first call"},
                             {"shift", "0", "ranks",
                              "root of call i is root + shift * i, modulo the ranks; in mode pallas2 "
                              "1 unless given, as Pallas 2.2.1 rotated"}});
  return more;
}

// Bytes [offset, offset + length) of what `sender` sends should arrive at `at` of the buffer.
struct Piece {
  std::size_t at, length;
  int sender;
  std::size_t offset = 0;
};

class Trial {
 public:
  // Collective over `members`, the ranks that take part. Throws UsageError or Skip on all alike.
  Trial(const Case& spec, const Benchmark& benchmark, Session& session, MPI_Comm members);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // --- where and what -------------------------------------------------------------------------
  MPI_Comm comm() const { return comm_; }  // the group of this rank (all members unless `group`)
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  std::int64_t bytes() const { return bytes_; }
  int count() const;  // bytes() as an MPI count; Skip if it does not fit
  // `number`, which is `what`, as the int that MPI wants; Skip if it does not fit. To be asked before buffers are.
  static int fitting(std::int64_t number, std::string_view what);
  int root_of(std::int64_t call) const {
    return shift_ == 0 ? root_ : static_cast<int>((root_ + shift_ * (call % ranks_)) % ranks_);
  }
  bool may_be_root() const { return shift_ != 0 || rank_ == root_; }  // in some call
  std::int64_t integer(std::string_view axis) const;
  std::string text(std::string_view axis) const;
  // This rank has so many threads that are busy at the same time: where processors are fewer, the result says so.
  void uses_threads(int threads) { result_.oversubscribed = threads > session_.processors_per_rank; }

  // --- buffers and what must arrive in them ------------------------------------------------------
  Buffer& buffer(std::size_t bytes);
  void sends(Buffer& buffer) { sends(buffer, buffer.first().size()); }
  // Its first bytes are filled with this rank's payload, or with what stands at `offset` of that.
  void sends(Buffer& buffer, std::size_t bytes, std::size_t offset = 0);
  void expects(Buffer& buffer, std::vector<Piece> pieces);  // received bytes
  void contributes(Buffer& buffer, std::size_t elements);   // floats to be summed
  void expects_sum(Buffer& buffer, std::size_t elements, std::size_t first = 0);
  // For operations without payload: a check of its own, true if all is well. Collective.
  void check_by(std::function<bool()> check) { custom_check_ = std::move(check); }
  // Returns whether `operation` synchronizes: no rank leaves it before a rank that is delayed has entered.
  // Collective.
  bool separates(const std::function<void()>& operation);

  // --- sampling: one of these, once ----------------------------------------------------------------
  using Operation = std::function<void(std::int64_t call)>;

  struct Batch {
    double divisor = 1;      // operations in one call: time = elapsed / divisor
    double messages = 0;     // bandwidth = messages * bytes / time, message rate = messages / time
    bool initiator = false;  // rank 0's clock alone (a round trip synchronises itself)
    double least_s = 20e-6;  // of a batch
  };
  // Times loops of `operation` long enough that the clock costs < 1 %.
  template <class Op>
  void batched(Op operation, Batch how = {}) {
    batched_loops(
        [&](std::int64_t first, std::int64_t calls) {
          for (std::int64_t i = first; i < first + calls; ++i) operation(i);
        },
        how);
  }
  // Likewise, where the benchmark has loops of its own.
  using Loop = std::function<void(std::int64_t first, std::int64_t calls)>;
  void batched_loops(const Loop& loop, Batch how);
  struct Calls {
    double divisor = 1;           // operations in one call: time = elapsed / divisor
    bool timed = true;            // whether this rank's clock counts: in a round trip the initiator's
    std::size_t min_samples = 0;  // where the case does not say: percentiles want more than a median
  };
  // Times each call by itself, all ranks starting together: last exit - first start. Round trips (Sampling) synchronise
  // themselves: they follow each other, and the slowest timed rank counts.
  void per_call(Operation operation, Calls how);
  void per_call(Operation operation) { per_call(std::move(operation), Calls{}); }
  // Times a non-blocking operation: alone, computation alone, and both together. `start` starts it.
  using Start = std::function<MPI_Request(std::int64_t call)>;
  void overlapped(Start start);

  // Runs the procedure of a study; what it found it tells by report() and table().
  void study(const std::function<void()>& procedure);
  // One value of a quantity that the benchmark declares; counts on rank 0 of all members.
  void report(std::string_view quantity, double value);
  Table& table(std::string name, std::string unit, std::string better, std::vector<Table::Axis> axes);
  // A fact in words: which library, what was chosen automatically, why something is unavailable. Counts on rank 0
  // of all members; the last words of a name do.
  void note(std::string_view name, std::string words) { result_.note(name, std::move(words)); }
  // A number that reports count with, such as the size of the problem (Traits::problem). Counts on rank 0 of all
  // members.
  template <class T>
  void number(std::string_view name, T value) {
    result_.number(name, static_cast<double>(value));
  }
  // Within a study: whether the payload of `operation` arrives, given what sends() and expects() said since
  // the last call of forget_payload(). The verdict goes into the result. Collective.
  bool verify(const Operation& operation);
  void forget_payload();
  // Within a study: the verdict of a check of its own, which every rank has for itself and says in words where it is
  // bad. The first rank's words that are go into the result. Collective; true if all is well everywhere.
  bool confirm(bool good, const std::string& reason);
  // Returns whether all calls take equally long, so that one is enough (mode once).
  bool deterministic() const { return result_.mode == "once"; }
  // Within a study: seconds of `calls` of `operation` from a common start on, those of the slowest rank. Ranks
  // whose operation does nothing are `idle` and sleep meanwhile. Collective.
  double seconds_of(std::int64_t calls, const Operation& operation, bool idle = false);
  // Within a study: likewise of one kernel of it, and its energy and counters, wherever there are any. Repetitions of
  // one name are of one kernel: the result has the mean of them.
  double measured(std::string_view kernel, const std::function<void()>& work, bool idle = false);
  // Calls that take about `seconds`, from 1 to `most`, found by timing; known on all ranks. Collective.
  std::int64_t calls_lasting(double seconds, std::int64_t most, const Operation& operation, bool idle = false);
  double worst(double value) const { return assembly_.most(value); }  // maximum over all members
  const Assembly& assembly() const { return assembly_; }
  void together() { assembly_.meet(); }  // barrier over all members
  void together(bool idle) {
    assembly_.meet(idle);
  }  // likewise; idle ranks sleep and leave processor and memory to the others
  std::uint64_t seed() const { return seed_; }  // of the case; differs between groups
  const Session& session() const { return session_; }
  void progressed(double share) const;  // sign of life of a long study

  Result take_result() { return std::move(result_); }

 private:
  void begin(const Operation& operation);   // agree on set-up, first payload check
  void finish(const Operation& operation);  // second payload check
  bool payload_arrives(const Operation& operation);
  bool judged(bool good);                    // of a study
  bool all_agree(const std::string& wrong);  // empty where nothing is; sets the reason
  void sample_until_stopped(double sample_s, const Metric& primary,
                            const std::function<void(std::int64_t)>& sample_block);
  Metric& add_metric(std::string name, const char* unit, const char* better, bool per_call);
  // With report=all, the times of every group from those of each rank, where `counts`. Collective.
  void add_group_times(std::span<const double> mine, const std::vector<bool>& counts, double divisor);
  void derive_rates(double messages);
  void refuse_missing_memory();
  void refuse_fewer_threads() const;

  const Case& spec_;
  const Benchmark& benchmark_;
  Session& session_;
  MPI_Comm all_, comm_;
  Assembly assembly_;  // of all members
  int all_rank_ = 0, all_ranks_ = 1, rank_ = 0, ranks_ = 1;
  std::int64_t bytes_ = 0;
  int root_ = 0, shift_ = 0;
  std::int64_t iterations_, warmup_;  // of modes fixed and pallas2
  std::uint64_t seed_, payload_seed_;
  Limits limits_;
  double started_s_;
  Result result_;
  std::unique_ptr<KernelLog> kernels_;  // from the first one on

  struct Expectation {
    Buffer* buffer;
    std::vector<Piece> pieces;
  };
  struct Sum {
    Buffer* buffer;
    std::size_t elements, first;
  };
  std::vector<std::unique_ptr<Buffer>> buffers_;
  struct Sent {
    Buffer* buffer;
    std::size_t bytes, offset;
  };
  std::vector<Sent> sent_;
  std::vector<Expectation> expected_;
  std::vector<Sum> contributed_, sums_;
  std::function<bool()> custom_check_;
};

}  // namespace kiviat
