// Linux' perf events; see perf_event_open(2) and Documentation/admin-guide/perf-security.rst.
#include "platform/counter_source.hpp"

#include <linux/perf_event.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace kiviat {
namespace {

namespace fs = std::filesystem;

struct Event {
  std::size_t name;  // index into counter_names
  std::uint32_t type;
  std::uint64_t config;
};

constexpr std::uint64_t last_level(std::uint64_t result) {
  return PERF_COUNT_HW_CACHE_LL | PERF_COUNT_HW_CACHE_OP_READ << 8 | result << 16;
}

// Generic events of perf, in the order of counter_names.
constexpr Event generic[] = {{0, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
                             {1, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
                             {2, PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
                             {3, PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
                             {4, PERF_TYPE_HW_CACHE, last_level(PERF_COUNT_HW_CACHE_RESULT_ACCESS)},
                             {5, PERF_TYPE_HW_CACHE, last_level(PERF_COUNT_HW_CACHE_RESULT_MISS)},
                             {6, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
                             {7, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES}};
constexpr std::size_t l2_misses = 8;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int open_event(std::uint32_t type, std::uint64_t config, pid_t thread, int processor) {
  perf_event_attr about{};
  about.size = sizeof about;
  about.type = type, about.config = config;
  about.disabled = 1;
  about.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  if (processor < 0) about.exclude_kernel = about.exclude_hv = about.inherit = 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &about, thread, processor, -1, PERF_FLAG_FD_CLOEXEC));
}

std::string reason(int error, const fs::path& root) {
  const std::string paranoid = first_line(root / "proc/sys/kernel/perf_event_paranoid");
  switch (error) {
    case EACCES:
    case EPERM:
      if (std::atoi(paranoid.c_str()) > 2)
        return "permission denied: perf_event_paranoid is " + paranoid +
               "; an administrator allows it by `sysctl kernel.perf_event_paranoid=2`";
      return "permission denied although perf_event_paranoid is " + paranoid +
             ": the container forbids perf_event_open; start it with CAP_PERFMON "
             "and a seccomp profile that allows it";
    case ENOSYS:
      return "the kernel lacks perf_event_open, or a sandbox forbids it";
    case EMFILE:
      return "too many open files; raise `ulimit -n`";
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
    case EINVAL:
      return "no hardware counters: a virtual machine without a PMU, or a processor that the kernel does not support";
    default:
      return std::strerror(error);
  }
}

// Encodes `value` in the bits given by a perf device's format, such as "config:0-7,32-35"; returns nothing for other
// formats.
std::optional<std::uint64_t> placed(std::uint64_t value, const std::string& format) {
  if (!format.starts_with("config:")) return std::nullopt;
  std::uint64_t config = 0;
  std::istringstream ranges(format.substr(7));
  for (std::string range; std::getline(ranges, range, ',');) {
    int low = 0, high = 0;
    const int found = std::sscanf(range.c_str(), "%d-%d", &low, &high);
    if (found < 1) return std::nullopt;
    if (found == 1) high = low;
    for (int bit = low; bit <= high; ++bit, value >>= 1) config |= (value & 1) << bit;
  }
  return config;
}

// Parses an event of a device in /sys/bus/event_source, such as "event=0x04,umask=0x03".
std::optional<std::uint64_t> event_of(const fs::path& device, const std::string& text) {
  std::istringstream terms(text);
  std::uint64_t config = 0;
  bool any = false;
  for (std::string term; std::getline(terms, term, ',');) {
    const auto equals = term.find('=');
    const std::uint64_t value = equals == std::string::npos ? 1 : std::strtoull(term.c_str() + equals + 1, nullptr, 0);
    const auto bits = placed(value, first_line(device / "format" / term.substr(0, equals)));
    if (!bits) return std::nullopt;
    config |= *bits, any = true;
  }
  return any ? std::optional(config) : std::nullopt;
}

// Returns the misses of the L2 cache on x86, which the kernel does not name; "" on other processors. Intel, from
// Haswell on: L2_RQSTS.MISS (Software Developer's Manual, volume 3B). AMD, from Zen on: misses of data and instructions
// (Processor Programming Reference, PMCx064).
std::string l2_misses_of_x86(const fs::path& root) {
  std::ifstream file(root / "proc/cpuinfo");
  std::string vendor;
  long family = 0, model = 0;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const auto colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("vendor_id")) vendor = value;
    if (line.starts_with("cpu family")) family = std::atol(value.c_str());
    if (line.starts_with("model\t")) model = std::atol(value.c_str());
  }
  if (vendor == "AuthenticAMD" && family >= 0x17) return "event=0x64,umask=0x09";
  // Ivy Bridge-EP, Atom and Xeon Phi have other events.
  constexpr std::array others = {0x3e, 0x4a, 0x4c, 0x4d, 0x57, 0x5a, 0x5c, 0x5d,
                                 0x5f, 0x75, 0x7a, 0x85, 0x86, 0x8a, 0x96, 0x9c};
  if (vendor == "GenuineIntel" && family == 6 && model >= 0x3c && std::ranges::find(others, model) == others.end())
    return "event=0x24,umask=0x3f";
  return "";
}

std::optional<std::uint64_t> named_event(const fs::path& device, const std::string& name) {
  return event_of(device, first_line(device / "events" / name));
}

std::vector<fs::path> devices(const fs::path& root) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(root / "sys/bus/event_source/devices", error), end; !error && at != end;
       at.increment(error))
    found.push_back(at->path());
  std::ranges::sort(found);
  return found;
}

class Perf final : public CounterSource {
 public:
  explicit Perf(std::string root) : root_(std::move(root)) {
    std::vector<Event> wanted(std::begin(generic), std::end(generic));
    // Perf has no generic L2 event, but Arm's devices describe theirs.
    const std::string of_x86 = l2_misses_of_x86(root_);
    for (const fs::path& device : devices(root_))
      if (const auto config =
              device.filename() == "cpu" ? event_of(device, of_x86) : named_event(device, "l2d_cache_refill")) {
        wanted.push_back(
            {l2_misses, static_cast<std::uint32_t>(std::atoi(first_line(device / "type").c_str())), *config});
        break;
      }
    for (const Event& event : wanted) {
      const int descriptor = open_event(event.type, event.config, 0, -1);
      if (descriptor < 0) {
        // Reports the reason for the first event, instructions, which is the most informative.
        if (why_ == 0) why_ = errno;
        lacking_ += (lacking_.empty() ? "" : ", ") + std::string(counter_names[event.name]);
      } else {
        close(descriptor);
        events_.push_back(event);
      }
    }
  }
  ~Perf() override {
    for (const Open& open : open_) close(open.descriptor);
  }

  bool any() const override { return (!events_.empty() && trouble_.empty()) || !traffic_scale_.empty(); }

  std::string words() const override {
    if (!trouble_.empty()) return "unavailable: " + trouble_;
    if (events_.empty()) return "unavailable: " + reason(why_, root_);
    std::string words = "perf: user code of all threads of a rank";
    if (!lacking_.empty()) words += "; this processor lacks " + lacking_;
    return words + no_traffic_;
  }

  // Opens counters for existing threads one by one; later threads inherit them from their creators.
  void prepare() override {
    if (!opened_) open_for_threads();
    for (Open& open : open_) open.base = read_of(open);
  }
  void enable() override { prctl(PR_TASK_PERF_EVENTS_ENABLE); }
  void disable() override { prctl(PR_TASK_PERF_EVENTS_DISABLE); }

  Counts counts() override {
    Counts counts;
    std::array<double, counter_names.size()> enabled{}, running{};
    for (const Open& open : open_) {
      if (open.traffic >= 0) continue;
      const Values values = read_of(open);
      const double ran = static_cast<double>(values.running - open.base.running),
                   was = static_cast<double>(values.enabled - open.base.enabled);
      enabled[open.name] += was, running[open.name] += ran;
      if (ran <= 0) continue;  // a sleeping thread, or a counter that was never scheduled
      double& sum = counts[open.name].value;
      sum = (std::isfinite(sum) ? sum : 0) + static_cast<double>(values.value - open.base.value) * was / ran;
    }
    for (std::size_t name = 0; name < counts.size(); ++name)
      counts[name].share = enabled[name] > 0 ? running[name] / enabled[name] : 1;
    return counts;
  }

  // Memory controllers of Intel processors have counters for the traffic of the whole node.
  void lead() override {
    if (leads_) return;
    leads_ = true;
    int error = 0;
    for (const fs::path& device : devices(root_)) {
      if (!device.filename().string().starts_with("uncore_imc")) continue;
      for (const auto& [name, written] :
           {std::pair("cas_count_read", false), std::pair("cas_count_write", true), std::pair("data_reads", false),
            std::pair("data_writes", true), std::pair("data_read", false), std::pair("data_write", true)})
        if (const auto config = named_event(device, name)) open_traffic(device, name, *config, written, error);
    }
    if (traffic_scale_.empty())
      no_traffic_ = "; memory traffic unavailable: " + (error == EACCES || error == EPERM
                                                            ? "perf_event_paranoid must be 0 for it"
                                                            : std::string("no counters of the memory controllers"));
  }

  std::optional<Traffic> traffic() override {
    if (traffic_scale_.empty()) return std::nullopt;
    Traffic traffic;
    for (const Open& open : open_) {
      if (open.traffic < 0) continue;
      const Values values = read_of(open);
      const double ran = static_cast<double>(values.running - open.base.running),
                   was = static_cast<double>(values.enabled - open.base.enabled);
      const auto [scale, written] = traffic_scale_[static_cast<std::size_t>(open.traffic)];
      if (ran > 0)
        (written ? traffic.written_bytes : traffic.read_bytes) +=
            scale * static_cast<double>(values.value - open.base.value) * was / ran;
    }
    return traffic;
  }

 private:
  struct Values {
    std::uint64_t value = 0, enabled = 0, running = 0;
  };
  struct Open {
    int descriptor;
    std::size_t name;
    int traffic;  // index into traffic_scale_; -1 for a counter of the rank
    Values base = {};
  };

  static Values read_of(const Open& open) {
    Values values;
    if (read(open.descriptor, &values, sizeof values) != static_cast<ssize_t>(sizeof values)) values = open.base;
    return values;
  }

  void open_for_threads() {
    opened_ = true;
    if (events_.empty()) return;
    std::vector<pid_t> threads;
    std::error_code error;
    for (fs::directory_iterator at("/proc/self/task", error), end; !error && at != end; at.increment(error))
      threads.push_back(std::atoi(at->path().filename().c_str()));
    // Leaves file descriptors for MPI.
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    if (threads.size() * events_.size() > files.rlim_cur / 2) {
      trouble_ = std::to_string(events_.size()) + " counters for each of " + std::to_string(threads.size()) +
                 " threads need more open files than `ulimit -n` allows (" + std::to_string(files.rlim_cur) + ")";
      return;
    }
    for (const pid_t thread : threads)
      for (const Event& event : events_)
        if (const int descriptor = open_event(event.type, event.config, thread, -1); descriptor >= 0)
          open_.push_back({descriptor, event.name, -1});
  }

  void open_traffic(const fs::path& device, const char* name, std::uint64_t config, bool written, int& error) {
    const double scale = std::strtod(first_line(device / "events" / (std::string(name) + ".scale")).c_str(), nullptr);
    if (first_line(device / "events" / (std::string(name) + ".unit")) != "MiB" || scale <= 0) return;
    const auto type = static_cast<std::uint32_t>(std::atoi(first_line(device / "type").c_str()));
    std::istringstream processors(first_line(device / "cpumask"));
    for (std::string processor; std::getline(processors, processor, ',');) {
      const int descriptor = open_event(type, config, -1, std::atoi(processor.c_str()));
      if (descriptor < 0) {
        error = errno;
        continue;
      }
      open_.push_back({descriptor, 0, static_cast<int>(traffic_scale_.size())});
      traffic_scale_.emplace_back(scale * (1 << 20), written);
    }
  }

  fs::path root_;
  std::vector<Event> events_;
  std::vector<Open> open_;
  std::vector<std::pair<double, bool>> traffic_scale_;  // bytes per count, and whether they are written
  std::string lacking_, trouble_, no_traffic_;
  int why_ = 0;
  bool opened_ = false, leads_ = false;
};

}  // namespace

std::unique_ptr<CounterSource> open_counters(const std::string& root) { return std::make_unique<Perf>(root); }

}  // namespace kiviat
