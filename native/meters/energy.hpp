// Energy of kernels by node: read by one rank of each node, or computed from declared power.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "platform/energy_sources.hpp"
#include "results/result.hpp"

namespace kiviat::energy {

// Declared power of a node or of each of its sockets, as in "115/node".
struct Watts {
  double watts;
  bool per_socket;
};
// Parses the control `watts`; nothing if `text` is empty. Throws UsageError if it is invalid.
std::optional<Watts> parse_watts(std::string_view text);

// Reads the energy sources of a node. Between start() and stop() a thread polls sources that need it: power meters
// every 50 ms, which costs about 0.1 % of one core.
class Reader {
 public:
  explicit Reader(Found found) : found_(std::move(found)) {}
  ~Reader() { end_watch(); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void start();
  void stop();
  double seconds() const { return seconds_; }  // from start() to stop()
  const std::vector<std::unique_ptr<Source>>& sources() const { return found_.sources; }
  const std::vector<std::string>& missing() const { return found_.missing; }

 private:
  void watch(int milliseconds);
  void end_watch();

  Found found_;
  double started_s_ = 0, seconds_ = 0;
  std::thread watch_;
  int stop_[2] = {-1, -1};  // a pipe: closing one end ends the watch at once
};

// Energy of a kernel over all its repetitions.
struct Spent {
  double seconds = 0;                              // between start() and stop()
  std::vector<std::optional<double>> joules = {};  // J per source; nothing if it could not be read
  std::vector<std::string> trouble = {};           // per source: reason why joules are missing
};

// Energy of one node: joules and watts of each kernel (NaN if unknown), joules of each source, and a description of how
// they were obtained.
struct Account {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  std::string words;
  std::vector<double> joules, watts;  // per kernel: energy of one repetition in J, mean power in W
  struct Part {
    std::string name;
    std::vector<double> joules;
  };
  std::vector<Part> parts = {};

  // Serialisation, to send accounts between ranks.
  std::string text() const;
  static Account from(const std::string& text, std::size_t kernels);
};

struct Kernel {
  std::string name;
  int repetitions = 0;
  double seconds = 0;  // sum over all repetitions of the slowest rank's time
};

// Computes the energy of one node from the readings of its sources.
Account account(const Reader& reader, const std::vector<Kernel>& kernels, const std::vector<Spent>& spent);

// Adds the tables `energy`, `power` and `energy_by_source`, and the note `energy`; `nodes` and `accounts` correspond.
void tell(Result& result, const std::vector<Kernel>& kernels, const std::vector<std::string>& nodes,
          const std::vector<Account>& accounts);

}  // namespace kiviat::energy
