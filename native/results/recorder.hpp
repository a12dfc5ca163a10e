// Event log of a launch: one JSON object per line, written at once, by rank 0 only.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

#include "benchmark/case.hpp"
#include "results/result.hpp"

namespace kiviat {

// The disk takes no results now. The program ends with exit code `cannot_write`, and the run can be resumed.
struct WriteError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
inline constexpr int cannot_write = 74;  // EX_IOERR of sysexits.h

class Recorder {
 public:
  // Appends to `path`; throws UsageError or WriteError if it cannot be opened.
  explicit Recorder(const std::string& path);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Appends a line. Returns false from the first failure on (full disk), whose reason is printed once to stderr.
  bool line(const std::string& json);

 private:
  std::string path_;
  int descriptor_;
  bool failed_ = false;
};

// The result of a case as a JSON event; `activity` is JSON (Activity::json).
std::string result_event(const Case& spec, const Result& result, const std::string& activity = "null");

}  // namespace kiviat
