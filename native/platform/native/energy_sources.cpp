// Sources of a node's energy: RAPL by the kernel's powercap, hwmon sensors, Cray's pm_counters, GPUs by NVML, and, for
// other meters (IPMI, Slurm, racks), a file that an agent of the site updates. The files are documented in the kernel's
// Documentation/power/powercap/powercap.rst and Documentation/hwmon/sysfs-interface.rst, the functions in NVIDIA's NVML
// API Reference Guide.
#include "platform/energy_sources.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "platform/clock.hpp"
#include "support/dynamic_library.hpp"

namespace kiviat::energy {
namespace {

namespace fs = std::filesystem;

constexpr double most_watts =
    2000;  // assumed maximum power of a RAPL zone: the counter must not wrap twice between two samples
constexpr double meter_look_s = 0.05;

class Counter final : public Source {
 public:
  Counter(std::string of, std::string from, Covers scope, double period_s, Reading joules, double range_j)
      : Source(std::move(of), std::move(from), scope, period_s), read_(std::move(joules)), range_j_(range_j) {
    if (range_j_ > 0) patience_s = range_j_ / most_watts;
  }
  void begin() override { last_ = read_(), sum_ = 0; }
  void look() override {
    const auto now = read_();
    if (!now || !last_ || (*now < *last_ && range_j_ <= 0)) {
      sum_.reset();
    } else if (sum_) {
      *sum_ += *now - *last_ + (*now < *last_ ? range_j_ : 0);
    }
    last_ = now;
  }
  std::optional<double> joules() const override { return sum_; }
  std::string trouble() const override { return sum_ ? "did not change" : "could not be read"; }

 private:
  Reading read_;
  double range_j_;
  std::optional<double> last_, sum_;
};

// Power is interpolated linearly between two samples.
class Meter final : public Source {
 public:
  Meter(std::string of, std::string from, Covers scope, double period_s, Reading watts)
      : Source(std::move(of), std::move(from), scope, period_s), read_(std::move(watts)) {
    patience_s = meter_look_s;
  }
  void begin() override { last_ = read_(), last_s_ = clock::now(), sum_ = 0; }
  void look() override {
    const auto watts = read_();
    const double now_s = clock::now();
    if (!watts || !last_)
      sum_.reset();
    else if (sum_)
      *sum_ += (*watts + *last_) / 2 * (now_s - last_s_);
    last_ = watts, last_s_ = now_s;
  }
  std::optional<double> joules() const override { return sum_; }
  std::string trouble() const override { return sum_ ? "reports 0 W" : "could not be read"; }

 private:
  Reading read_;
  double last_s_ = 0;
  std::optional<double> last_, sum_;
};

std::string line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Returns the number at the start of a file; nothing if there is none.
std::optional<double> number_in(const fs::path& path) {
  const std::string line = line_of(path);
  char* end = nullptr;
  const double number = std::strtod(line.c_str(), &end);
  return end == line.c_str() || !std::isfinite(number) ? std::nullopt : std::optional(number);
}

// Returns the reason why an existing file cannot be opened; empty if it can.
std::string refused(const fs::path& path) {
  errno = 0;
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (!file) return std::strerror(errno);
  std::fclose(file);
  return "";
}

Reading scaled(const fs::path& path, double factor) {
  return [=] {
    auto number = number_in(path);
    if (number) *number *= factor;
    return number;
  };
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    found.push_back(at->path());
  std::ranges::sort(found);
  return found;
}

void add_rapl(const fs::path& root, Found& found) {
  const fs::path folder = root / "sys/class/powercap";
  bool any = false;
  std::string denied;
  for (const fs::path& zone : entries(folder)) {
    // Zones of intel-rapl-mmio duplicate those of intel-rapl.
    if (!zone.filename().string().starts_with("intel-rapl:") || !fs::exists(zone / "energy_uj")) continue;
    const std::string what = line_of(zone / "name");
    const bool package = what.starts_with("package"), memory = what == "dram", platform = what == "psys";
    if (!package && !memory && !platform) continue;  // skips cores and uncore, which are within the package
    if (const std::string why = refused(zone / "energy_uj"); !why.empty()) {
      denied = why;
      continue;
    }
    const double range_uj = number_in(zone / "max_energy_range_uj").value_or(0);
    // The coverage of psys depends on the board.
    found.sources.push_back(counter(package  ? "package"
                                    : memory ? "dram"
                                             : "platform",
                                    "RAPL " + what, platform ? Covers::aside : Covers::part, 1e-3,
                                    scaled(zone / "energy_uj", 1e-6), 1e-6 * range_uj));
    any = true;
  }
  if (!denied.empty()) {
    found.missing.push_back(
        denied == std::strerror(EACCES)
            ? "permission denied: RAPL's energy_uj is readable by root only; an administrator "
              "allows it by `chmod o+r /sys/class/powercap/intel-rapl:*/energy_uj` (after each boot)"
            : "RAPL's energy_uj cannot be read: " + denied);
  } else if (!any) {
    found.missing.push_back(fs::exists(folder) ? "no RAPL in /sys/class/powercap" : "no /sys/class/powercap");
  }
}

// Sensors whose coverage is known: the ACPI power meter and POWER's "System" measure the whole node, amd_energy's
// sockets are packages, amdgpu is a GPU. Others are reported aside.
void add_hwmon(const fs::path& root, Found& found) {
  constexpr std::size_t most = 16;  // maximum number of sensors reported aside
  const bool rapl = std::ranges::any_of(found.sources, [](const auto& source) { return source->name == "package"; });
  const std::size_t before = found.sources.size();
  std::size_t aside = 0;
  for (const fs::path& device : entries(root / "sys/class/hwmon")) {
    const std::string driver = line_of(device / "name");
    for (const fs::path& file : entries(device)) {
      const std::string name = file.filename();
      const bool energy = name.starts_with("energy") && name.ends_with("_input");
      const bool power = name.starts_with("power") && (name.ends_with("_average") || name.ends_with("_input"));
      if (!energy && !power) continue;
      const std::string sensor = name.substr(0, name.find('_'));
      // Prefers an average to a momentary value.
      if (power && name.ends_with("_input") && fs::exists(device / (sensor + "_average"))) continue;
      const std::string label = line_of(device / (sensor + "_label")),
                        origin = "hwmon " + driver + (label.empty() ? "" : " " + label);
      if (driver == "amd_energy" && (rapl || !label.starts_with("Esocket"))) continue;
      if (!refused(file).empty()) {
        found.missing.push_back(origin + ": " + refused(file));
        continue;
      }
      const bool node = driver == "power_meter" || (driver == "ibmpowernv" && label == "System");
      const bool package = driver == "amd_energy", gpu = driver == "amdgpu";
      const Covers covers = node ? Covers::node : package || gpu ? Covers::part : Covers::aside;
      if (covers == Covers::aside && ++aside > most) continue;
      const std::string what = node ? "node" : package ? "package" : gpu ? "gpu" : origin;
      if (energy) {
        found.sources.push_back(counter(what, origin, covers, 0.1, scaled(file, 1e-6)));
      } else {
        const double averaged_s = 1e-3 * number_in(device / (sensor + "_average_interval")).value_or(0);
        found.sources.push_back(meter(what, origin, covers, std::max(meter_look_s, averaged_s), scaled(file, 1e-6)));
      }
    }
  }
  if (found.sources.size() == before) found.missing.push_back("no energy or power sensor in /sys/class/hwmon");
}

void add_cray(const fs::path& root, Found& found) {
  const fs::path folder = root / "sys/cray/pm_counters";
  if (!fs::exists(folder / "energy")) {
    found.missing.push_back("no /sys/cray/pm_counters");
    return;
  }
  // These files are updated ten times per second; parts are contained in the node's energy.
  for (const auto& [file, name, covers] :
       {std::tuple("energy", "node", Covers::node), std::tuple("cpu_energy", "package", Covers::aside),
        std::tuple("memory_energy", "dram", Covers::aside)})
    if (fs::exists(folder / file))
      found.sources.push_back(counter(name, std::string("pm_counters/") + file, covers, 0.1, scaled(folder / file, 1)));
}

void add_gpus(const std::string& library, Found& found) {
  void* nvml = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!nvml) {
    found.missing.push_back("no NVML (" + library + ")");
    return;
  }
  using Device = void*;
  const auto start = look_up<int()>(nvml, "nvmlInit_v2");
  const auto count = look_up<int(unsigned*)>(nvml, "nvmlDeviceGetCount_v2");
  const auto handle = look_up<int(unsigned, Device*)>(nvml, "nvmlDeviceGetHandleByIndex_v2");
  const auto energy = look_up<int(Device, unsigned long long*)>(nvml, "nvmlDeviceGetTotalEnergyConsumption");
  const auto power = look_up<int(Device, unsigned*)>(nvml, "nvmlDeviceGetPowerUsage");
  unsigned devices = 0;
  if (!start || !count || !handle) {
    found.missing.push_back("NVML lacks functions");
    return;
  }
  if (start() != 0 || count(&devices) != 0 || devices == 0) {
    found.missing.push_back("NVML reports no GPU");
    return;
  }
  for (unsigned index = 0; index < devices; ++index) {
    Device device = nullptr;
    const std::string origin = "NVML GPU " + std::to_string(index);
    unsigned long long millijoules;
    unsigned milliwatts;
    if (handle(index, &device) != 0) {
      found.missing.push_back(origin + " cannot be accessed");
    } else if (energy && energy(device, &millijoules) == 0) {
      found.sources.push_back(counter("gpu", origin, Covers::part, 0.1, [=]() -> std::optional<double> {
        unsigned long long now;
        return energy(device, &now) == 0 ? std::optional(1e-3 * static_cast<double>(now)) : std::nullopt;
      }));
    } else if (power && power(device, &milliwatts) == 0) {
      found.sources.push_back(meter("gpu", origin, Covers::part, 0.1, [=]() -> std::optional<double> {
        unsigned now;
        return power(device, &now) == 0 ? std::optional(1e-3 * now) : std::nullopt;
      }));
    } else {
      found.missing.push_back(origin + " reports neither energy nor power");
    }
  }
}

// A number with its unit, J or W.
struct Reported {
  double number;
  char unit;
};

std::optional<Reported> reported_in(const std::string& path) {
  Reported told{};
  char rest;
  const int found = std::sscanf(line_of(path).c_str(), "%lf %c %c", &told.number, &told.unit, &rest);
  return found == 2 && std::isfinite(told.number) && (told.unit == 'J' || told.unit == 'W') ? std::optional(told)
                                                                                            : std::nullopt;
}

double modified_s(const std::string& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0) return NAN;
  return static_cast<double>(about.st_mtim.tv_sec) + 1e-9 * static_cast<double>(about.st_mtim.tv_nsec);
}

// A file updated by an agent. If it is no longer updated, the energy is unknown.
class File final : public Source {
 public:
  File(const std::string& path, char unit)
      : Source("node", path, Covers::node, 1),
        path_(path),
        inner_(unit == 'J' ? counter(name, path, covers, renewed_s, reading(path, 'J'))
                           : meter(name, path, covers, renewed_s, reading(path, 'W'))) {
    patience_s = inner_->patience_s;
  }
  void begin() override { inner_->begin(), begun_s_ = clock::now(), renewed_at_s_ = modified_s(path_), stale_ = false; }
  void look() override {
    inner_->look();
    stale_ = modified_s(path_) == renewed_at_s_ && clock::now() - begun_s_ > 10 * renewed_s;
  }
  std::optional<double> joules() const override { return stale_ ? std::nullopt : inner_->joules(); }
  std::string trouble() const override { return stale_ ? "was not updated during the measurement" : inner_->trouble(); }

 private:
  static Reading reading(const std::string& path, char unit) {
    return [=]() -> std::optional<double> {
      const auto told = reported_in(path);
      return told && told->unit == unit ? std::optional(told->number) : std::nullopt;
    };
  }
  std::string path_;
  std::unique_ptr<Source> inner_;
  double begun_s_ = 0, renewed_at_s_ = 0;
  bool stale_ = false;
};

void add_file(const std::string& path, Found& found) {
  if (path.empty()) {
    found.missing.push_back("KIVIAT_ENERGY_FILE is not set");
  } else if (const std::string why = refused(path); !why.empty()) {
    found.missing.push_back("KIVIAT_ENERGY_FILE=" + path + ": " + why);
  } else if (const auto told = reported_in(path)) {
    found.sources.push_back(std::make_unique<File>(path, told->unit));
  } else {
    found.missing.push_back("KIVIAT_ENERGY_FILE=" + path + " contains '" + line_of(path) +
                            "': it must hold a number and J or W, such as 48211.5 J");
  }
}

}  // namespace

std::unique_ptr<Source> counter(std::string name, std::string origin, Covers covers, double renewed_s, Reading joules,
                                double range_j) {
  return std::make_unique<Counter>(std::move(name), std::move(origin), covers, renewed_s, std::move(joules), range_j);
}

std::unique_ptr<Source> meter(std::string name, std::string origin, Covers covers, double renewed_s, Reading watts) {
  return std::make_unique<Meter>(std::move(name), std::move(origin), covers, renewed_s, std::move(watts));
}

Places usual_places() {
  const char* file = std::getenv("KIVIAT_ENERGY_FILE");
  Places places;
  places.file = file ? file : "";
  return places;
}

// Only the first source that covers the whole node counts as its energy.
Found find_sources(const Places& places) {
  Found found;
  add_file(places.file, found);
  add_cray(places.root, found);
  add_rapl(places.root, found);
  add_hwmon(places.root, found);
  add_gpus(places.nvml, found);
  return found;
}

int sockets(const Places& places) {
  std::set<int> packages;
  for (const fs::path& processor : entries(fs::path(places.root) / "sys/devices/system/cpu"))
    // Some Arm firmware reports -1 for all processors; this counts as one socket.
    if (const auto package = number_in(processor / "topology/physical_package_id"))
      packages.insert(static_cast<int>(*package));
  return static_cast<int>(packages.size());
}

}  // namespace kiviat::energy
