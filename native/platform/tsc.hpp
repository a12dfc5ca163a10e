// The processor's time stamp counter, the cheapest clock: the profiler reads it twice in every MPI call.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "platform/clock.hpp"

#if defined(__x86_64__) && !defined(KIVIAT_SIMULATED)
#include <cpuid.h>
#include <x86intrin.h>
#define KIVIAT_HAS_TSC
#endif

namespace kiviat::clock {

// Returns whether the processor's time stamp counter runs at one rate on all cores and in all states: the processor
// must report this, and the kernel must use the counter as its clock, which it does not if the cores' counters
// disagree.
inline bool counter_is_a_clock() {
#ifdef KIVIAT_HAS_TSC
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d >> 8 & 1)) return false;
  char source[32] = "tsc";
  if (std::FILE* file = std::fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r")) {
    if (std::fscanf(file, "%31s", source) != 1) source[0] = 0;
    std::fclose(file);
  }
  return std::strcmp(source, "hpet") != 0 && std::strcmp(source, "acpi_pm") != 0 && std::strcmp(source, "jiffies") != 0;
#else
  return false;
#endif
}

// Reading of the time stamp counter if `of_counter`, else of now() in nanoseconds. The caller determines the length of
// a tick from two readings of both clocks.
inline std::uint64_t ticks([[maybe_unused]] bool of_counter) {
#ifdef KIVIAT_HAS_TSC
  if (of_counter) return __rdtsc();
#endif
  return static_cast<std::uint64_t>(1e9 * now());
}

}  // namespace kiviat::clock
