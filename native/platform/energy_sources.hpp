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

// The part of a node that a source covers. Parts of a node add up; a source within another one, or of unknown
// extent, is reported aside.
enum class Covers { node, part, aside };

class Source {
 public:
  Source(std::string of, std::string from, Covers scope, double period_s)
      : name(std::move(of)), origin(std::move(from)), covers(scope), renewed_s(period_s) {}
  virtual ~Source() = default;
  virtual void begin() = 0;
  // To be called between begin() and joules(), at least every patience_s.
  virtual void look() = 0;
  // From begin() to the last look(); nothing where it could not be read.
  virtual std::optional<double> joules() const = 0;
  // Why there is nothing, or nothing but 0.
  virtual std::string trouble() const = 0;

  const std::string name;    // what it is the energy of: "package", "dram", "gpu", "node"
  const std::string origin;  // how one knows: "RAPL package-0"
  const Covers covers;
  const double renewed_s;  // its period: the energy of what takes not much longer is unknown
  double patience_s = INFINITY;
};

using Reading = std::function<std::optional<double>()>;

// Counts joules, and begins again at 0 behind `range_j` (0: never does).
std::unique_ptr<Source> counter(std::string name, std::string origin, Covers covers, double renewed_s, Reading joules,
                                double range_j = 0);
// Tells watts, which are integrated over time.
std::unique_ptr<Source> meter(std::string name, std::string origin, Covers covers, double renewed_s, Reading watts);

struct Found {
  std::vector<std::unique_ptr<Source>> sources;
  std::vector<std::string> missing;  // in words, what is not there and why
};

struct Places {
  std::string root = "/";  // of /sys
  std::string nvml = "libnvidia-ml.so.1";
  std::string file;  // that an agent of the site renews, empty: none
};
Places usual_places();

Found find_sources(const Places& places);
// Of this node; 0 where the system does not say.
int sockets(const Places& places);

}  // namespace kiviat::energy
