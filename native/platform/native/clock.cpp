#include "platform/clock.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>

namespace kiviat::clock {

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

namespace {

std::int64_t processor_ns(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return std::int64_t{1'000'000'000} * t.tv_sec + t.tv_nsec;
}

}  // namespace

std::int64_t thread_ns() { return processor_ns(CLOCK_THREAD_CPUTIME_ID); }
std::int64_t thread_ns(unsigned long pthread) {
  clockid_t clock;
  return pthread_getcpuclockid(pthread, &clock) == 0 ? processor_ns(clock) : 0;
}
std::int64_t process_ns() { return processor_ns(CLOCK_PROCESS_CPUTIME_ID); }

double cost() {
  constexpr int calls = 64;
  std::array<double, 101> samples;
  for (double& sample : samples) {
    const double start = now();
    for (int i = 0; i < calls; ++i) now();
    sample = (now() - start) / (calls + 1);
  }
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
  return samples[samples.size() / 2];
}

double wait_until(double time_s) {
  double t = now();
  while (t < time_s) t = now();
  return t;
}

void sleep_until(double time_s) {
  const double whole_s = std::floor(time_s);
  const timespec until{static_cast<std::time_t>(whole_s), static_cast<long>(1e9 * (time_s - whole_s))};
  do clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);  // ends early after a signal
  while (now() < time_s);
}

const char* name() { return "CLOCK_MONOTONIC"; }

unsigned long domain() {
  std::string identity;
  if (std::FILE* file = std::fopen("/proc/sys/kernel/random/boot_id", "r")) {
    char line[64] = {};
    if (std::fgets(line, sizeof line, file)) identity = line;
    std::fclose(file);
  }
  char link[64] = {};
  if (readlink("/proc/self/ns/time", link, sizeof link - 1) > 0) identity += link;
  if (identity.empty()) {
    // Without a boot id, different hosts are assumed to have different clocks.
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    identity = host;
  }
  return std::hash<std::string>{}(identity);
}

}  // namespace kiviat::clock
