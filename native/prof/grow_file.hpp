// Growing the files of counters and events without harm to the program.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cerrno>

namespace kiviat::prof {

// Whether the process may write a file up to `end`. Beyond its limit (ulimit -f), a signal would end the program.
inline bool may_grow(off_t end) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         static_cast<rlim_t>(end) <= limit.rlim_cur;
}

// Reserves `bytes` of the file from `offset` on. Returns 0 or an errno.
inline int grow_file(int fd, off_t offset, off_t bytes) {
  if (!may_grow(offset + bytes)) return EFBIG;
  int error;
  do error = posix_fallocate(fd, offset, bytes);
  while (error == EINTR);  // by a signal of the program
  return error;
}

}  // namespace kiviat::prof
