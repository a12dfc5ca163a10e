#include "results/recorder.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "helpers.hpp"
#include "ranked_test.hpp"

using namespace kiviat;
using namespace kiviat::test;

namespace {

// A temporary folder.
struct Scratch {
  std::string folder = "/tmp/kiviat-recorder-XXXXXX", path;
  Scratch() {
    if (!mkdtemp(folder.data())) folder = "/nonexistent";
    path = folder + "/events.jsonl";
  }
  ~Scratch() {
    unlink(path.c_str());
    rmdir(folder.c_str());
  }
  std::string content() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

}  // namespace

RANKED_TEST(lines_are_there_as_soon_as_written, 1) {
  const Scratch scratch;
  Recorder recorder(scratch.path);
  EXPECT(recorder.line("{\"a\":1}"));
  EXPECT(scratch.content() == "{\"a\":1}\n");
  EXPECT(recorder.line("{}"));
  EXPECT(scratch.content() == "{\"a\":1}\n{}\n");
}

RANKED_TEST(recorders_append, 1) {
  const Scratch scratch;
  Recorder(scratch.path).line("first");
  Recorder(scratch.path).line("second");
  EXPECT(scratch.content() == "first\nsecond\n");
}

RANKED_TEST(a_full_disk_is_told_once, 1) {
  const Scratch scratch;
  int saved = dup(2);
  EXPECT(freopen(scratch.path.c_str(), "w", stderr) != nullptr);
  bool first, second;
  {
    Recorder recorder("/dev/full");
    first = recorder.line("{}");
    second = recorder.line("{}");
  }
  fflush(stderr);
  dup2(saved, 2);
  close(saved);
  EXPECT(!first);
  EXPECT(!second);
  const std::string said = scratch.content();
  EXPECT(contains(said, "cannot write '/dev/full': No space left on device"));
  EXPECT(std::count(said.begin(), said.end(), '\n') == 1);
}

RANKED_TEST(a_file_that_cannot_be_opened_is_named, 1) {
  EXPECT(contains(thrown<UsageError>([] { Recorder recorder("/nonexistent/events.jsonl"); }),
                  "cannot write '/nonexistent/events.jsonl': No such file or directory"));
}

RANKED_TEST(result_events_keep_axes_apart_from_controls, 1) {
  Result result;
  result.benchmark = "pingpong", result.ranks = 2, result.bytes = 8;
  const Case spec{
      "id \"1\"",
      "alias",
      {{"bytes", "8"}, {"ranks", "2"}, {"root", "rotate"}, {"window", "64"}, {"distance", "007"}, {"seed", "3"}}};
  const std::string json = result_event(spec, result);
  EXPECT(contains(json, R"("case":"id \"1\"","benchmark":"pingpong","ranks":2,"bytes":8,)"));
  // 007 is not a JSON number.
  EXPECT(contains(json, R"("axes":{"distance":"007","root":"rotate","window":64})"));
  result.bytes.reset();
  EXPECT(contains(result_event(spec, result), "\"bytes\":null"));
}
