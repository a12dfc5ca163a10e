// Common parts of the tests of energy and counters: a study with kernels, and files as the kernel provides them.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "measure/trial.hpp"

namespace kiviat::test {

// A temporary folder used as root directory.
struct FakeRoot {
  std::string path = "/tmp/kiviat-root-XXXXXX";
  FakeRoot() {
    if (mkdtemp(path.data())) std::filesystem::permissions(path, std::filesystem::perms(0755));
  }
  ~FakeRoot() { std::filesystem::remove_all(path); }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path + '/' + file).parent_path());
    std::ofstream(path + '/' + file) << text << '\n';
  }
};

// The result of a study that consists of `body`.
inline Result studied(Session& session, const std::map<std::string, std::string, std::less<>>& words,
                      const std::function<void(Trial&)>& body) {
  const Case spec{"fabricated/case", "fabricated", words};
  const Benchmark benchmark{
      "fabricated",
      "tests/fabricated",
      nullptr,
      {.sampling = Sampling::study, .ranks = at_least(1), .sized = false, .reports = {{"rate", "1/s", "higher"}}}};
  Trial trial(spec, benchmark, session, session.world);
  trial.study([&] {
    body(trial);
    trial.report("rate", 1);
  });
  return trial.take_result();
}

inline const Table* table_of(const Result& result, const char* name) {
  const auto found = std::ranges::find(result.tables, name, &Table::name);
  return found == result.tables.end() ? nullptr : &*found;
}

inline std::string note_of(const Result& result, const char* name) {
  for (const auto& [key, words] : result.notes)
    if (key == name) return words;
  return "(no note)";
}

}  // namespace kiviat::test
