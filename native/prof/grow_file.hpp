// Allocation of room in a file, for files in mapped memory.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>

namespace kiviat::prof {

// Allocates room for `bytes` from `offset` on; returns 0 or an errno. Beyond the limit of the size of files (`ulimit
// -f`) the allocation would raise SIGXFSZ, which ends the program. A signal, as of an interval timer, interrupts it on
// some file systems (tmpfs).
inline int grow_file(int fd, off_t offset, off_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < static_cast<rlim_t>(offset + bytes)) return EFBIG;
  int error = 0;
  do error = posix_fallocate(fd, offset, bytes);
  while (error == EINTR);
  return error;
}

}  // namespace kiviat::prof
