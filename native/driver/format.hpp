// Output formats of kiviat-bench run directly, without `kiviat run`.
#pragma once

#include <memory>
#include <string>

#include "benchmark/case.hpp"
#include "results/result.hpp"

namespace kiviat {

class Format {
 public:
  virtual ~Format() = default;
  virtual void begin(const std::string& launch_json) { (void)launch_json; }
  virtual void result(const Case& spec, const Result& result) = 0;
  virtual void end() {}
};

// "table", "osu", "imb", "csv", "json" or "jsonl"; throws UsageError for anything else.
std::unique_ptr<Format> make_format(const std::string& name);

}  // namespace kiviat
