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

// Value of a counter; NaN if unavailable. `share`: share of the time in which it was counted. If the processor has too
// few counters, the kernel multiplexes them, and the value is scaled to the whole time.
struct Count {
  double value = NAN, share = 1;
};
using Counts = std::array<Count, counter_names.size()>;

struct Traffic {
  double read_bytes = 0, written_bytes = 0;
};

// Counters of all threads of a rank, user code only. prepare() and counts() are slow and belong outside timed regions;
// enable() and disable() take one system call each.
class CounterSource {
 public:
  virtual ~CounterSource() = default;
  virtual bool any() const = 0;           // whether any counter is available
  virtual std::string words() const = 0;  // the source, "perf: …", or the reason, "unavailable: …"
  virtual void prepare() = 0;
  virtual void enable() = 0;
  virtual void disable() = 0;
  virtual Counts counts() = 0;  // since prepare()
  // Makes this rank also count the memory traffic of its node.
  virtual void lead() = 0;
  virtual std::optional<Traffic> traffic() = 0;  // traffic of the node's memory since prepare()
};

// Opens the counters of this process; never fails, see any(). `root` is the directory of /sys and /proc, for tests.
std::unique_ptr<CounterSource> open_counters(const std::string& root = "/");

// Used if counters are unavailable; names the reason.
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
