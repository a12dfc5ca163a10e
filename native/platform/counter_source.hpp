// Hardware counters of a rank, and of the memory of its node.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace kiviat {

inline constexpr std::array counter_names = {"instructions",           "cycles",       "stalled_cycles_frontend",
                                             "stalled_cycles_backend", "llc_loads",    "llc_load_misses",
                                             "cache_references",       "cache_misses", "l2_misses"};

// A count, and the share of time in which it was counted. If the processor has too few counters, they take
// turns, and the value is scaled to the whole time.
struct Count {
  double value = NAN, share = 1;
};
using Counts = std::array<Count, counter_names.size()>;

struct Traffic {
  double read_bytes = 0, written_bytes = 0;
};

// All threads of a rank are counted, in user code. Opening and reading cost time: prepare() and counts() stand outside
// of what is timed; enable() and disable() are one system call each.
class CounterSource {
 public:
  virtual ~CounterSource() = default;
  virtual bool any() const = 0;
  virtual std::string words() const = 0;  // "perf: …", or "unavailable: …" and why
  virtual void prepare() = 0;
  virtual void enable() = 0;
  virtual void disable() = 0;
  virtual Counts counts() = 0;  // since prepare()
  // From now on this rank counts for its node too.
  virtual void lead() = 0;
  virtual std::optional<Traffic> traffic() = 0;  // of the node's memory since prepare()
};

// `root` is that of /sys and /proc.
std::unique_ptr<CounterSource> open_counters(const std::string& root = "/");

// For systems without counters.
class NoCounters final : public CounterSource {
 public:
  explicit NoCounters(std::string why) : why_(std::move(why)) {}
  bool any() const override { return false; }
  std::string words() const override { return "unavailable: " + why_; }
  void prepare() override {}
  void enable() override {}
  void disable() override {}
  Counts counts() override { return {}; }
  void lead() override {}
  std::optional<Traffic> traffic() override { return std::nullopt; }

 private:
  std::string why_;
};

}  // namespace kiviat
