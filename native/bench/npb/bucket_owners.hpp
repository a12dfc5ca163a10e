// Assignment of buckets of keys to ranks: a rank gets successive buckets until it has its share of all keys, so it
// exceeds its share by at most one bucket.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace kiviat::npb {

// Returns the owner of each bucket, in ascending order. `keys`: number of keys in each bucket; `share`: average number
// of keys per rank.
inline std::vector<int> bucket_owners(std::span<const std::int32_t> keys, std::int64_t share, int ranks) {
  std::vector<int> owners;
  std::int64_t before = 0;
  int owner = 0;
  for (const std::int32_t in_bucket : keys) {
    owners.push_back(owner = static_cast<int>(std::clamp<std::int64_t>(before / share, owner, ranks - 1)));
    before += in_bucket;
  }
  return owners;
}

}  // namespace kiviat::npb
