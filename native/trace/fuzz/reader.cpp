// Fuzzer of the trace reader: the replayer reads the stream of one rank, with an MPI that only checks its arguments
// (dry/mpi.h). Each stream must end with success or with an exception that names the position of the error; an abort, a
// sanitizer's report or an access to a message buffer is a defect of Kiviat.
//
// With clang it is a libFuzzer target; else `kiviat-fuzz-reader FILE…` reads each file once:
//   cmake -G Ninja -S native/trace/fuzz -B build/fuzz -DCMAKE_CXX_COMPILER=clang++ && cmake --build build/fuzz
//   build/fuzz/kiviat-fuzz-reader -max_total_time=600 CORPUS
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

#include "trace/replay/rank.hpp"
#include "trace/replay/scratch.hpp"

namespace kiviat::trace {

// Message buffers, which the replayer must never access: any access raises SIGSEGV.
char* scratch(std::size_t bytes) {
  static char* const place = [] {
    void* const mapped = mmap(nullptr, 3 * most_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) std::abort();
    return static_cast<char*>(mapped);
  }();
  if (bytes > 3 * most_bytes) std::abort();
  return place;
}

}  // namespace kiviat::trace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const int file = memfd_create("stream", 0);
  static const std::string name = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  kiviat::dry::made = 100;
  kiviat::dry::type_bytes.clear();
  try {
    kiviat::trace::Cursor stream(name, 1);
    kiviat::trace::Progress progress;
    kiviat::trace::Rank rank(stream, {.scale = 1, .sparse = size % 2 == 0, .apart = size % 3 == 0}, progress);
    rank.run();
    rank.finish();
  } catch (const std::runtime_error&) {
  }
  return 0;
}

#ifndef KIVIAT_LIBFUZZER
int main(int count, char** names) {
  std::string content;
  for (int at = 1; at < count; ++at) {
    std::FILE* const file = std::fopen(names[at], "rb");
    if (!file) return std::fprintf(stderr, "cannot read %s\n", names[at]), 2;
    content.clear();
    char part[1 << 16];
    for (std::size_t got; (got = std::fread(part, 1, sizeof part, file)) > 0;) content.append(part, got);
    std::fclose(file);
    std::printf("%s\n", names[at]);
    std::fflush(stdout);  // the last name printed is that of the stream that failed
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(content.data()), content.size());
  }
  return 0;
}
#endif
