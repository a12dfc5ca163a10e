// The file that the recorder of traces writes.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ranked_test.hpp"
#include "trace/stream.hpp"

using namespace kiviat;
using namespace kiviat::test;

// The last placeholder before the disk was full has room for two of its five bytes, and the next one for none. Patching
// them wrote behind the mapped window, into other memory.
RANKED_TEST(trace_stream_patches_nothing_behind_its_end, 1) {
  constexpr trace::Word room = 64 << 10;
  char folder[] = "/tmp/kiviat-stream-XXXXXX";
  EXPECT(mkdtemp(folder));
  const std::string path = std::string(folder) + "/a.stream";
  trace::Stream stream;
  EXPECT(stream.open(path, "{}"));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{trace::stream_at + room, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  for (trace::Word at = 0; at + 2 < room; ++at) stream.number(1);
  const trace::Word crossing = stream.later(5);
  const trace::Word behind = stream.later(5);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT(stream.full());
  EXPECT(crossing == room - 2);

  std::vector<unsigned char> header(trace::stream_at);
  std::memcpy(header.data(), stream.header(), header.size());
  stream.patch(crossing, 300);
  stream.patch(behind, 300);
  EXPECT(std::memcmp(header.data(), stream.header(), header.size()) == 0);

  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  EXPECT(content.size() == trace::stream_at + room);
  EXPECT(content.substr(content.size() - 3) == "\x01\xac\x82");  // 300 begins with these two bytes
  unlink(path.c_str()), rmdir(folder);
}
