// Sources of a node's energy: counters of joules, and meters of watts that must be polled.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kiviat::energy {

// The part of a node that a source covers. `part`s add up to the node; `aside` means that the source lies within
// another one, or that its extent is unknown, so it is reported separately.
enum class Covers { node, part, aside };

class Source {
 public:
  Source(std::string of, std::string from, Covers scope, double period_s)
      : name(std::move(of)), origin(std::move(from)), covers(scope), renewed_s(period_s) {}
  virtual ~Source() = default;
  virtual void begin() = 0;
  // Samples the source; to be called at least every patience_s seconds between begin() and joules().
  virtual void look() = 0;
  // Energy in J from begin() to the last look(); nothing if it could not be read.
  virtual std::optional<double> joules() const = 0;
  // Reason why joules() is missing or 0.
  virtual std::string trouble() const = 0;

  const std::string name;    // the component measured: "package", "dram", "gpu", "node"
  const std::string origin;  // the instrument: "RAPL package-0"
  const Covers covers;
  const double renewed_s;  // update period in seconds; the energy of intervals not much longer is unknown
  double patience_s = INFINITY;
};

using Reading = std::function<std::optional<double>()>;

// Returns a source that counts joules and wraps around at `range_j` (0: never).
std::unique_ptr<Source> counter(std::string name, std::string origin, Covers covers, double renewed_s, Reading joules,
                                double range_j = 0);
// Returns a source that reads watts and integrates them over time.
std::unique_ptr<Source> meter(std::string name, std::string origin, Covers covers, double renewed_s, Reading watts);

struct Found {
  std::vector<std::unique_ptr<Source>> sources;
  std::vector<std::string> missing;  // reasons why other sources are unavailable
};

struct Places {
  std::string root = "/";                  // directory of /sys
  std::string nvml = "libnvidia-ml.so.1";  // NVIDIA's management library
  std::string file;                        // file updated by an agent of the site (KIVIAT_ENERGY_FILE); empty: none
};
Places usual_places();

Found find_sources(const Places& places);
// Number of processor sockets of this node; 0 if unknown.
int sockets(const Places& places);

}  // namespace kiviat::energy
