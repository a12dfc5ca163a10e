// slices COMMAND...: runs a command whose threads give the core to another after 0.1 ms.
//
// The nodes of an emulated cluster share the cores of one machine. A rank that waits yields, but the scheduler lets a
// rank that computes, or the one that yielded, go on to the end of its slice, some milliseconds: a thousand times what
// a message takes. With slices of 0.1 ms the wait is about that of a real network's worst. Linux knows requested slices
// from 6.12 on (EEVDF); older ones refuse or ignore them, and the command runs all the same.
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
