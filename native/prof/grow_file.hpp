// Growing the files of counters and events without harm to the program.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cerrno>

namespace kiviat::prof {

// Returns whether the process may write a file up to `end`. Beyond its limit (ulimit -f), a signal would end the
// program.
inline bool may_grow(off_t end) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         static_cast<rlim_t>(end) <= limit.rlim_cur;
}

// Reserves `bytes` of the file from `offset` on. Returns 0 or an errno.
inline int grow_file(int fd, off_t offset, off_t bytes) {
  if (!may_grow(offset + bytes)) return EFBIG;
  // A signal of the program interrupts it on some file systems, each time if it is a fast timer's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  int error = EINTR;
  for (int attempt = 0; error == EINTR && attempt < 100; ++attempt) error = posix_fallocate(fd, offset, bytes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

}  // namespace kiviat::prof
