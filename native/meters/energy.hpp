// The energy of kernels, node by node: read by one rank of each node, or computed from the watts that somebody
// declares.
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
// Nothing where `text` is empty; UsageError where it makes no sense.
std::optional<Watts> parse_watts(std::string_view text);

// Looks at the sources of a node, also between start() and stop() where they need it: a meter of watts every 50 ms, by
// a thread that takes some 0.1 % of the time of one core.
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
  double seconds = 0;                              // between the readings
  std::vector<std::optional<double>> joules = {};  // of each source
  std::vector<std::string> trouble = {};
};

// Energy of one node: joules and watts of each kernel (NaN if unknown), those of its sources, and a
// description of how they were obtained.
struct Account {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  std::string words;
  std::vector<double> joules, watts;  // of each kernel: of a repetition, and meanwhile
  struct Part {
    std::string name;
    std::vector<double> joules;
  };
  std::vector<Part> parts = {};

  // For the way between ranks.
  std::string text() const;
  static Account from(const std::string& text, std::size_t kernels);
};

struct Kernel {
  std::string name;
  int repetitions = 0;
  double seconds = 0;  // of all repetitions: of the slowest rank in each
};

Account account(const Reader& reader, const std::vector<Kernel>& kernels, const std::vector<Spent>& spent);

// Adds the tables `energy`, `power` and `energy_by_source`, and the note `energy`; `nodes` are named like their
// accounts.
void tell(Result& result, const std::vector<Kernel>& kernels, const std::vector<std::string>& nodes,
          const std::vector<Account>& accounts);

}  // namespace kiviat::energy
