// slices COMMAND...: runs a command with scheduler time slices of 0.1 ms.
//
// The nodes of an emulated cluster share the cores of one machine. A waiting rank yields, but the scheduler lets the
// other rank run to the end of its slice, some milliseconds: a thousand times the duration of a message. With slices of
// 0.1 ms the delay is similar to the worst case of a real network. Linux supports requested slices since 6.12 (EEVDF);
// older kernels reject or ignore them, and the command runs nevertheless.
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

int main(int count, char** words) {
  if (count < 2) {
    std::fputs("usage: slices COMMAND...\n", stderr);
    return 2;
  }
  sched_attr attributes{};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0) {
    attributes.sched_runtime = 100'000;
    syscall(SYS_sched_setattr, 0, &attributes, 0);
  }
  execvp(words[1], words + 1);
  std::fprintf(stderr, "%s: %s\n", words[1], std::strerror(errno));
  return 127;
}
