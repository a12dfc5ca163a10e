#include "prof/merge.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "prof/profiler.hpp"
#include "prof/real.hpp"

namespace kiviat::prof {
namespace {

using Bytes = std::vector<unsigned char>;
constexpr std::size_t most_at_once = std::size_t{1} << 30;  // counts are int

void put(Bytes& to, Word value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<unsigned char>(value | 0x80));
  to.push_back(static_cast<unsigned char>(value));
}

Bytes own() {
  const auto* const words = reinterpret_cast<const Word*>(profiler.state);
  const std::size_t count = words_of(static_cast<std::size_t>(profiler.ranks));
  // What is equal on all ranks rank 0 tells.
  const std::size_t common = profiler.rank == 0 ? 0 : offsetof(Header, library) / sizeof(Word);
  const std::size_t header = sizeof(Header) / sizeof(Word);
  const auto tells = [&](std::size_t at) { return words[at] != 0 && !(common && at >= common && at < header); };
  Word tellable = 0;
  for (std::size_t at = 0; at < count; ++at) tellable += tells(at);
  Bytes packed;
  put(packed, tellable);
  std::size_t before = 0;
  for (std::size_t at = 0; at < count; ++at)
    if (tells(at)) put(packed, at - before), put(packed, words[at]), before = at;
  return packed;
}

void send(const Bytes& bytes, int to, MPI_Comm comm) {
  const std::uint64_t size = bytes.size();
  KIVIAT_PMPI(Send)(&size, sizeof size, byte(), to, 0, comm);
  for (std::size_t at = 0; at < size; at += most_at_once)
    KIVIAT_PMPI(Send)(bytes.data() + at, static_cast<int>(std::min<std::size_t>(most_at_once, size - at)), byte(), to, 0, comm);
}

void append_from(Bytes& bytes, int from, MPI_Comm comm) {
  std::uint64_t size = 0;
  KIVIAT_PMPI(Recv)(&size, sizeof size, byte(), from, 0, comm, MPI_STATUS_IGNORE);
  const std::size_t before = bytes.size();
  bytes.resize(before + size);
  for (std::size_t at = 0; at < size; at += most_at_once) {
    const int part = static_cast<int>(std::min<std::size_t>(most_at_once, size - at));
    KIVIAT_PMPI(Recv)(bytes.data() + before + at, part, byte(), from, 0, comm, MPI_STATUS_IGNORE);
  }
}

std::uint32_t adler32(const Bytes& bytes) {
  std::uint32_t a = 1, b = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    for (const std::size_t stop = std::min(bytes.size(), at + 5552); at < stop; ++at) a += bytes[at], b += a;
    a %= 65521, b %= 65521;
  }
  return b << 16 | a;
}

bool write(const std::string& folder, std::string description, const Bytes& bytes) {
  const Header& header = profiler.state->header;
  const std::string path = folder + "/world-" + header.host + "-" + std::to_string(header.process) + ".profile";
  const std::string draft = path + ".part";
  std::FILE* const file = std::fopen(draft.c_str(), "w");
  if (!file) return false;
  description += "{\"ranks\":" + std::to_string(profiler.ranks) + ",\"bytes\":" + std::to_string(bytes.size()) +
                 ",\"adler32\":" + std::to_string(adler32(bytes)) + "}\n";
  bool done = std::fwrite(description.data(), 1, description.size(), file) == description.size() &&
              std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  done = std::fclose(file) == 0 && done;
  return done && std::rename(draft.c_str(), path.c_str()) == 0;
}

}  // namespace

// Rank r has the words of r … r + 2^k - 1 before it sends them on: they stay in order.
void merge(const char* folder, const std::string& description) {
  MPI_Comm comm;
  if (KIVIAT_PMPI(Comm_dup)(world(), &comm) != MPI_SUCCESS) return;
  KIVIAT_PMPI(Comm_set_errhandler)(comm, errors_return());
  const int rank = profiler.rank, ranks = profiler.ranks;
  Bytes bytes = own();
  for (int step = 1; step < ranks; step *= 2) {
    if (rank & step) {
      send(bytes, rank - step, comm);
      break;
    }
    if (rank + step < ranks) append_from(bytes, rank + step, comm);
  }
  int written = rank == 0 && write(folder, description, bytes);
  if (rank == 0 && !written) std::fprintf(stderr, "kiviat: cannot write the profile to %s\n", folder);
  KIVIAT_PMPI(Bcast)(&written, sizeof written, byte(), 0, comm);
  KIVIAT_PMPI(Comm_free)(&comm);
  if (written)
    unlink((std::string(folder) + "/rank-" + std::to_string(rank) + "-" + std::to_string(getpid()) + ".state").c_str());
}

}  // namespace kiviat::prof
