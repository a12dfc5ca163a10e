// Clocks. No other code reads the time.
#pragma once

#include <cstdint>

namespace kiviat::clock {

// Returns the time in seconds of the machine's monotonic clock, or the simulated time under SMPI.
double now();

// Cost of one call of now() in seconds: the median over many calls.
double cost();

// Returns the processor time of the calling thread in nanoseconds. It is real time of this machine, also under SMPI.
std::int64_t thread_ns();

// Returns that of another thread of the process, which has not ended.
std::int64_t thread_ns(unsigned long pthread);

// Returns the processor time of all threads of this process, in nanoseconds.
std::int64_t process_ns();

// Spins until now() >= time_s and returns the last reading.
double wait_until(double time_s);

// Sleeps until now() >= time_s.
void sleep_until(double time_s);

// Name of the clock; the next function returns its domain: two ranks have equal domains only if their readings are
// comparable without an offset (same boot, same time namespace).
const char* name();
unsigned long domain();

}  // namespace kiviat::clock
