#include "measure/buffer.hpp"

#include <cstdint>
#include <set>

#include "ranked_test.hpp"

using namespace kiviat;

namespace {

constexpr std::size_t plenty = std::size_t{1} << 40;

}  // namespace

RANKED_TEST(buffers_are_aligned_and_stay_in_place, 1) {
  for (const auto source : {Buffer::Source::malloc, Buffer::Source::alloc_mem}) {
    Buffer buffer(100, source, 0, plenty);
    EXPECT(buffer.allocated());
    buffer.touch();
    std::byte* here = buffer.next();
    EXPECT(reinterpret_cast<std::uintptr_t>(here) % 4096 == 0);
    EXPECT(buffer.next() == here);
    EXPECT(buffer.first().data() == here);
    EXPECT(buffer.first().size() == 100);
  }
}

RANKED_TEST(off_cache_buffers_rotate_through_all_the_memory, 1) {
  constexpr std::size_t cache = 1 << 20;
  for (const std::size_t bytes : {1, 1000, 70'000, 3'000'000}) {
    Buffer buffer(bytes, Buffer::Source::malloc, cache, plenty);
    buffer.touch();
    std::set<std::byte*> places;
    std::byte* here;
    while (places.insert(here = buffer.next()).second) here[bytes - 1] = std::byte{1};
    EXPECT(here == buffer.first().data());  // the rotated places do not overlap
    EXPECT(places.size() >= 2);
    EXPECT(places.size() * bytes <= buffer.total_bytes());
    EXPECT(buffer.total_bytes() >= cache);
    EXPECT(*std::next(places.begin()) - *places.begin() >= static_cast<std::ptrdiff_t>(bytes));  // no overlap
    buffer.next();
    buffer.rewind();
    EXPECT(buffer.next() == buffer.first().data());
  }
}

RANKED_TEST(too_much_memory_is_not_allocated, 1) {
  EXPECT(!Buffer(1 << 20, Buffer::Source::malloc, 0, 1 << 16).allocated());
  EXPECT(!Buffer(std::size_t{1} << 60, Buffer::Source::malloc, 0, SIZE_MAX).allocated());
}

RANKED_TEST(an_empty_message_has_a_place, 1) {
  Buffer buffer(0, Buffer::Source::malloc, 0, plenty);
  EXPECT(buffer.allocated());
  EXPECT(buffer.next() != nullptr);
  EXPECT(buffer.first().empty());
}
