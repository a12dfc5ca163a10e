#include "measure/trial.hpp"

#include <algorithm>
#include <climits>
#include <optional>
#include <stdexcept>

#include "support/failure.hpp"
#include "support/random.hpp"

namespace kiviat {
namespace {

// IMB's default number of iterations: 1000, or fewer if these would move more than 40 MiB.
std::int64_t default_iterations(std::int64_t bytes) {
  return bytes == 0 ? 1000 : std::clamp<std::int64_t>((40 << 20) / bytes, 1, 1000);
}

}  // namespace

Trial::Trial(const Case& spec, const Benchmark& benchmark, Session& session, MPI_Comm members)
    : spec_(spec),
      benchmark_(benchmark),
      session_(session),
      all_(members),
      comm_(members),
      members_(members == session.world ? session.group : RankGroup(members)),
      started_s_(clock::now()) {
  MPI_Comm_rank(all_, &all_rank_);
  MPI_Comm_size(all_, &all_ranks_);

  for (const auto& [key, value] : spec.words) {
    if (is_control(key)) continue;
    const std::optional<Axis> axis = benchmark.axis(key);
    if (!axis) throw UsageError(benchmark.name + " has no axis '" + key + "'; --describe lists its axes");
    axis->check(value);
  }

  const std::int64_t group = integer("group");
  if (group > 0 && all_ranks_ % group != 0)
    throw UsageError("group=" + std::to_string(group) + " does not divide " + std::to_string(all_ranks_) + " ranks");
  if (group == 0 && spec.text("report", "worst") == "all")
    throw UsageError("report=all reports each group: give group=RANKS too");
  const int group_ranks = group ? static_cast<int>(group) : all_ranks_;
  if (!benchmark.traits.ranks.allows(group_ranks))
    throw Skip(benchmark.name + " needs " + benchmark.traits.ranks.text() + " ranks, not " +
               std::to_string(group_ranks));
  if (benchmark.traits.threads) refuse_fewer_threads();
  bytes_ = benchmark.traits.sized ? spec.integer("bytes", 0) : 0;
  if (bytes_ < 0) throw UsageError("bytes=" + std::to_string(bytes_) + " is negative; give 0 or more");
  if (bytes_ % benchmark.traits.element_bytes != 0)
    throw Skip("bytes=" + std::to_string(bytes_) + " is not a multiple of the element size, " +
               std::to_string(benchmark.traits.element_bytes) + " B");

  result_.metrics.reserve(16 +
                          (group ? all_ranks_ / group : 0));  // reserve, because references to elements are handed out
  result_.mode = spec.text("mode", "adaptive");
  if (result_.mode != "adaptive" && result_.mode != "fixed" && result_.mode != "once" && result_.mode != "pallas2")
    throw UsageError("mode is '" + result_.mode + "': give adaptive, fixed, once or pallas2");
  result_.clock_cost_s = session.clock_cost_s;
  limits_.target = spec.real("target", limits_.target);
  limits_.budget_s = spec.real("budget_s", limits_.budget_s);
  limits_.min_samples = static_cast<std::size_t>(std::max<std::int64_t>(1, spec.integer("min_samples", 16)));
  limits_.max_samples = static_cast<std::size_t>(std::max<std::int64_t>(1, spec.integer("max_samples", 1000)));
  iterations_ = spec.integer("iterations", default_iterations(bytes_));
  warmup_ = spec.integer("warmup", std::max<std::int64_t>(iterations_ / 10, 10));
  if (iterations_ < 1 || warmup_ < 0)
    throw UsageError("iterations=" + std::to_string(iterations_) + " warmup=" + std::to_string(warmup_) +
                     ": iterations must be at least 1 and warmup at least 0");
  seed_ = static_cast<std::uint64_t>(spec.integer("seed", 1));
  const std::string wanted_pages = spec.text("pages", "huge");
  if (wanted_pages != "huge" && wanted_pages != "small")
    throw UsageError("pages is '" + wanted_pages + "': give huge or small");
  if (wanted_pages == "small") small_pages_.emplace();

  if (benchmark.axis("root")) {
    const std::int64_t root = integer("root"), shift = spec.integer("shift", result_.mode == "pallas2" ? 1 : 0);
    if (root >= group_ranks)
      throw UsageError("root=" + std::to_string(root) + " is not a rank: give 0 to " + std::to_string(group_ranks - 1));
    root_ = static_cast<int>(root), shift_ = static_cast<int>(shift % group_ranks);
  }

  if (group || !RankGroup::silent()) MPI_Comm_split(all_, all_rank_ / group_ranks, all_rank_, &comm_);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &ranks_);
  // Groups use different payloads, so that messages from another group are detected.
  if (group) seed_ = mix(seed_ + static_cast<std::uint64_t>(all_rank_ / group_ranks));
  payload_seed_ = seed_;
  // Positions in one rank's buffer are displacements in another's window, so all have one size.
  if (benchmark.traits.buffers && text("cache") == "off")
    rotated_bytes_ = 2 * static_cast<std::size_t>(members_.maximum(static_cast<double>(session.cache_bytes)));
}

// Throws Skip on all ranks if any has less than MPI_THREAD_MULTIPLE, because a library may provide different levels on
// different ranks.
void Trial::refuse_fewer_threads() const {
  int level;
  MPI_Query_thread(&level);
  if (worst(level < MPI_THREAD_MULTIPLE) > 0)
    throw Skip(benchmark_.name +
               " needs MPI_THREAD_MULTIPLE: give --threads multiple, and use an MPI that supports that level");
}

// The clock of the session is renewed by all ranks together.
GlobalClock& Trial::common_clock() {
  if (session_.global_clock.shared() || all_ranks_ == session_.size) return session_.global_clock;
  if (!clock_) clock_ = std::make_unique<GlobalClock>(all_);
  return *clock_;
}

Trial::~Trial() {
  host::sends_from_memory(false);
  if (comm_ != all_) MPI_Comm_free(&comm_);
}

int Trial::fitting(std::int64_t number, std::string_view what) {
  if (number > INT_MAX)
    throw Skip(std::to_string(number) + ' ' + std::string(what) + " exceed the largest count of one MPI call, " +
               std::to_string(INT_MAX));
  return static_cast<int>(number);
}

int Trial::count() const { return fitting(bytes_, "B"); }

std::int64_t Trial::integer(std::string_view axis) const { return to_integer(text(axis), axis); }

std::string Trial::text(std::string_view axis) const { return spec_.text(axis, benchmark_.axis(axis)->fallback); }

void Trial::refuse_rotation(std::string_view who) const {
  if (rotated_bytes_) throw Skip("cache=off: " + std::string(who) + " always uses the same buffer; leave cache out");
}

Buffer& Trial::buffer(std::size_t bytes) {
  if (rotated_bytes_) host::sends_from_memory(true);
  return allocated(bytes, rotated_bytes_);
}

Buffer& Trial::checked_buffer(std::size_t bytes) { return allocated(host::carries_payload() ? bytes : 0, 0); }

Buffer& Trial::allocated(std::size_t bytes, std::size_t rotate_bytes) {
  if (!benchmark_.traits.buffers)
    throw std::logic_error(benchmark_.name + " requests a buffer but declares .buffers = false");
  const auto source = text("buffer") == "alloc_mem" ? Buffer::Source::alloc_mem : Buffer::Source::malloc;
  std::size_t left = session_.memory_share_bytes;
  for (const auto& other : buffers_) left -= std::min(left, other->total_bytes());
  return *buffers_.emplace_back(std::make_unique<Buffer>(bytes, source, rotate_bytes, left));
}

void Trial::sends(Buffer& buffer, std::size_t bytes, std::size_t offset) {
  payload_.sent.push_back({&buffer, bytes, offset});
}

void Trial::expects(Buffer& buffer, std::vector<Piece> pieces) {
  payload_.expected.push_back({&buffer, std::move(pieces)});
}

void Trial::contributes(Buffer& buffer, std::size_t elements) {
  payload_.contributed.push_back({&buffer, elements, 0});
}

void Trial::expects_sum(Buffer& buffer, std::size_t elements, std::size_t first) {
  payload_.sums.push_back({&buffer, elements, first});
}

void Trial::by_root(std::function<void(int root)> declare) {
  payload_by_root_ = std::move(declare);
  payload_by_root_(root_of(0));
}

// --- for the samplers -----------------------------------------------------------------------------

Metric& Trial::add_metric(std::string name, const char* unit, const char* better, bool per_call) {
  return result_.metrics.emplace_back(Metric{std::move(name), unit, better, per_call, Reservoir()});
}

void Trial::derive_rates(double messages) {
  const bool per_call = result_.metrics.front().per_call;
  const auto derive = [&](const char* name, const char* unit, double numerator) {
    result_.metrics.push_back({name, unit, "higher", per_call, Reservoir(0), "time", numerator});
  };
  if (benchmark_.traits.bandwidth && bytes_ > 0) derive("bandwidth", "B/s", messages * static_cast<double>(bytes_));
  if (benchmark_.traits.message_rate) derive("message_rate", "1/s", messages);
}

// Takes samples in blocks: sample_block(n) takes n samples on all ranks; rank 0 decides from its samples how many more
// are needed. Returns early once it is `given_up`, on all ranks alike.
void Trial::sample_until_stopped(double sample_s, const Metric& primary,
                                 const std::function<void(std::int64_t)>& sample_block,
                                 const std::function<bool()>& given_up) {
  const double start_s = clock::now();
  for (bool first = true;; first = false) {
    std::int64_t block = 0;
    if (all_rank_ == 0) {
      const double elapsed_s = clock::now() - start_s;
      // The first block is always taken: on a busy machine even a moment can outlast the budget.
      const auto reason = first ? std::nullopt : stop_reason(limits_, primary.samples, elapsed_s);
      if (reason) {
        result_.stopped_by = *reason;
      } else {
        block = static_cast<std::int64_t>(next_block(limits_, primary.samples.count(), sample_s, elapsed_s));
      }
    }
    MPI_Bcast(&block, 1, MPI_INT64_T, 0, all_);
    if (block == 0) return;
    sample_block(block);
    if (given_up()) return;
  }
}

void Trial::add_group_times(std::span<const double> mine, const std::vector<bool>& counts, double divisor) {
  if (integer("group") == 0 || text("report") != "all") return;
  const std::size_t samples = mine.size();
  std::vector<double> all(all_rank_ == 0 ? samples * static_cast<std::size_t>(all_ranks_) : 0);
  MPI_Gather(mine.data(), static_cast<int>(samples), MPI_DOUBLE, all.data(), static_cast<int>(samples), MPI_DOUBLE, 0,
             all_);
  if (all_rank_ != 0) return;
  for (int group = 0; group < all_ranks_ / ranks_; ++group) {
    const std::string name = "time_group_" + std::to_string(group);
    auto found = std::ranges::find(result_.metrics, name, &Metric::name);
    Metric& time =
        found != result_.metrics.end() ? *found : add_metric(name, "s", "lower", result_.metrics.front().per_call);
    for (std::size_t i = 0; i < samples; ++i) {
      if (!counts[i]) continue;
      double slowest = 0;
      for (int rank = group * ranks_; rank < (group + 1) * ranks_; ++rank)
        slowest = std::max(slowest, all[static_cast<std::size_t>(rank) * samples + i]);
      time.samples.add(slowest / divisor);
    }
  }
}

}  // namespace kiviat
