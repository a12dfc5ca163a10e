// The one place where time is read.
#pragma once

#include <cstdint>

namespace kiviat::clock {

// Seconds of the machine's monotonic clock. Under SMPI this is simulated time.
double now();

// Seconds that one call of now() costs: the median over many calls.
double cost();

// Nanoseconds of processor time that the calling thread has had. Of this machine, also under SMPI.
std::int64_t thread_ns();

// Spins until now() >= time_s and returns the last reading.
double wait_until(double time_s);

// Names the clock and whom this rank shares it with: equal on two ranks only if their readings
// can be compared without any offset (same boot, same time namespace).
const char* name();
unsigned long domain();

}  // namespace kiviat::clock
