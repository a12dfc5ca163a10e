#include "results/recorder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "support/failure.hpp"
#include "support/json.hpp"

namespace kiviat {

Recorder::Recorder(const std::string& path)
    : path_(path), descriptor_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_ >= 0) return;
  const int why = errno;
  const std::string message = "cannot write '" + path + "': " + std::strerror(why) + "; make room or give another file";
  // The disk may take later what it refuses now; other reasons lie in the path.
  if (why == EROFS || why == ENOSPC || why == EDQUOT || why == EIO) throw WriteError(message);
  throw UsageError(message);
}

Recorder::~Recorder() { close(descriptor_); }

bool Recorder::line(const std::string& json) {
  if (failed_) return false;
  const std::string text = json + '\n';
  for (std::size_t written = 0; written < text.size();) {
    const auto n = write(descriptor_, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      std::fprintf(stderr, "kiviat-bench: cannot write '%s': %s; make room and resume the run\n", path_.c_str(),
                   std::strerror(errno));
      failed_ = true;
      return false;
    }
    written += static_cast<std::size_t>(n);
  }
  return true;
}

std::string result_event(const Case& spec, const Result& result, const std::string& activity) {
  json::Object axes;
  for (const auto& [key, value] : spec.words)
    if (!is_control(key)) {
      // JSON does not allow numbers with leading zeros.
      const bool number = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos &&
                          (value[0] != '0' || value.size() == 1);
      number ? axes.raw(key, value) : axes.field(key, value);
    }
  json::Object event;
  event.field("event", "result").field("case", spec.id).field("benchmark", result.benchmark);
  return event.field("ranks", result.ranks)
      .field("bytes", result.bytes)
      .raw("axes", axes.text())
      .field("mode", result.mode)
      .field("sync", result.sync)
      .field("outcome", result.outcome)
      .field("phase", result.phase)
      .field("reason", result.reason)
      .field("check", result.check)
      .field("check_reason", result.check_reason)
      .field("stopped_by", result.stopped_by)
      .field("batch", result.batch)
      .field("missed_windows", result.missed_windows)
      .field("clock_cost_s", result.clock_cost_s)
      .field("elapsed_s", result.elapsed_s)
      .field("oversubscribed", result.oversubscribed)
      .raw("activity", activity)
      .raw("metrics", result.metrics_json(true))
      .raw("tables", result.tables_json())
      .raw("notes", result.notes_json())
      .raw("numbers", result.numbers_json())
      .text();
}

}  // namespace kiviat
