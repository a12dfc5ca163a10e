#include "prof/packed.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "prof/grow_file.hpp"

namespace kiviat::prof {
namespace {

void put(Bytes& to, Word value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<unsigned char>(value | 0x80));
  to.push_back(static_cast<unsigned char>(value));
}

std::uint32_t adler32(const Bytes& bytes) {
  std::uint32_t a = 1, b = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    for (const std::size_t stop = std::min(bytes.size(), at + 5552); at < stop; ++at) a += bytes[at], b += a;
    a %= 65521, b %= 65521;
  }
  return b << 16 | a;
}

}  // namespace

Bytes packed(const State& state, bool tells) {
  const auto* const words = reinterpret_cast<const Word*>(&state);
  const std::size_t count = words_of(static_cast<std::size_t>(state.header.ranks));
  const std::size_t common = tells ? 0 : offsetof(Header, library) / sizeof(Word);
  const std::size_t header = sizeof(Header) / sizeof(Word);
  const auto told = [&](std::size_t at) { return words[at] != 0 && !(common && at >= common && at < header); };
  Word tellable = 0;
  for (std::size_t at = 0; at < count; ++at) tellable += told(at);
  Bytes bytes;
  put(bytes, tellable);
  std::size_t before = 0;
  for (std::size_t at = 0; at < count; ++at)
    if (told(at)) put(bytes, at - before), put(bytes, words[at]), before = at;
  return bytes;
}

bool write_world(const std::string& folder, const Header& header, const Bytes& bytes, const std::string& more) {
  const std::string path = folder + "/world-" + header.host + "-" + std::to_string(header.process) + ".profile";
  const std::string draft = path + ".part";
  const std::string lines = description() + "{\"ranks\":" + std::to_string(header.ranks) +
                            ",\"bytes\":" + std::to_string(bytes.size()) +
                            ",\"adler32\":" + std::to_string(adler32(bytes)) + more + "}\n";
  if (!may_grow(static_cast<off_t>(lines.size() + bytes.size()))) return false;
  std::FILE* const file = std::fopen(draft.c_str(), "w");
  if (!file) return false;
  bool done = std::fwrite(lines.data(), 1, lines.size(), file) == lines.size() &&
              std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  done = std::fclose(file) == 0 && done;
  return done && std::rename(draft.c_str(), path.c_str()) == 0;
}

}  // namespace kiviat::prof
