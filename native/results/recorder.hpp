// Writes what happened, as it happens: one JSON object a line, flushed, by rank 0 only.
#pragma once

#include <cstdio>
#include <string>

#include "benchmark/case.hpp"
#include "results/result.hpp"

namespace kiviat {

class Recorder {
 public:
  // Appends to `path`; throws UsageError if it cannot be opened.
  explicit Recorder(const std::string& path);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // False from the first line on that could not be written whole (a full disk); the reason is on stderr, once.
  bool line(const std::string& json);

 private:
  std::string path_;
  int descriptor_;
  bool failed_ = false;
};

std::string result_event(const Case& spec, const std::string& benchmark, int ranks, bool sized, bool oversubscribed,
                         const Result& result);

}  // namespace kiviat
