/* A time of day that a trial can step: a preloaded library adds the seconds in the file $FAULTS_CLOCK to it.
 * The monotonic clock stays as it is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long* step;
static int (*real)(clockid_t, struct timespec*);

__attribute__((constructor)) static void begin(void) {
  *(void**)&real = dlsym(RTLD_NEXT, "clock_gettime");
  const char* name = getenv("FAULTS_CLOCK");
  const int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void* at = mmap(NULL, sizeof *step, PROT_READ, MAP_SHARED, file, 0);
  if (at != MAP_FAILED) step = at;
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  if (!real) begin();
  const int failed = real(clock, now);
  if (!failed && step && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *step;
  return failed;
}

time_t time(time_t* kept) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (kept) *kept = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(struct timeval* restrict kept, void* restrict zone) {
  (void)zone;
  struct timespec now;
  const int failed = clock_gettime(CLOCK_REALTIME, &now);
  kept->tv_sec = now.tv_sec, kept->tv_usec = now.tv_nsec / 1000;
  return failed;
}
