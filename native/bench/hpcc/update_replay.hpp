// Repeats all updates in the simplest way. Afterwards the table must have its initial contents, because XORing twice
// with the same number leaves a word unchanged.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/hpcc/update_router.hpp"
#include "kernels/random_access_stream.hpp"

namespace kiviat {

// Updates `first` … `first` + `count` - 1.
struct UpdateRange {
  std::int64_t first, count;
};

struct Verdict {
  std::int64_t wrong_words = 0;  // in this rank's part
  std::string reason;            // empty if all is correct
};

// `mine`: updates that this rank sent; `done`: tally of the updates applied to its part. The repetition generates
// numbers one by one and exchanges long blocks, so that it does not repeat an error of the benchmark. An update lost
// both times would not show in the table; the sums of updates detect it. Collective.
inline Verdict replayed(MPI_Comm comm, const TableShare& share, const updates::Part& part, const UpdateRange& mine,
                        const updates::Tally& done) {
  constexpr std::int64_t block = 1 << 15;
  const std::size_t ranks = static_cast<std::size_t>(share.ranks);
  std::int64_t blocks = (mine.count + block - 1) / block;
  if (ranks > 1) MPI_Allreduce(MPI_IN_PLACE, &blocks, 1, MPI_INT64_T, MPI_MAX, comm);

  std::vector<std::uint64_t> sums(ranks), numbers, out, in;
  std::vector<int> out_bytes(ranks), in_bytes(ranks), out_at(ranks), in_at(ranks);
  updates::Tally again;
  std::uint64_t update = updates::starts(mine.first);
  for (std::int64_t b = 0; b < blocks; ++b) {
    numbers.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(mine.count - b * block, 0, block)));
    std::ranges::fill(out_bytes, 0);
    for (std::uint64_t& number : numbers) {
      number = update = updates::next(update);
      const std::size_t owner = static_cast<std::size_t>(share.owner(number & share.mask()));
      out_bytes[owner] += sizeof number, sums[owner] += number;
    }
    if (ranks == 1) {
      updates::apply(part, numbers, again);
      continue;
    }
    MPI_Alltoall(out_bytes.data(), 1, MPI_INT, in_bytes.data(), 1, MPI_INT, comm);
    for (std::size_t rank = 1; rank < ranks; ++rank)
      out_at[rank] = out_at[rank - 1] + out_bytes[rank - 1], in_at[rank] = in_at[rank - 1] + in_bytes[rank - 1];
    out.resize(numbers.size()),
        in.resize(static_cast<std::size_t>(in_at.back() + in_bytes.back()) / sizeof(std::uint64_t));
    std::vector<int> at = out_at;
    for (const std::uint64_t number : numbers) {
      int& place = at[static_cast<std::size_t>(share.owner(number & share.mask()))];
      out[static_cast<std::size_t>(place) / sizeof number] = number, place += sizeof number;
    }
    MPI_Alltoallv(out.data(), out_bytes.data(), out_at.data(), MPI_BYTE, in.data(), in_bytes.data(), in_at.data(),
                  MPI_BYTE, comm);
    updates::apply(part, in, again);
  }

  std::uint64_t due = sums.front();
  if (ranks > 1) MPI_Reduce_scatter_block(sums.data(), &due, 1, MPI_UINT64_T, MPI_SUM, comm);
  Verdict verdict;
  for (std::uint64_t i = 0; i < part.count; ++i) verdict.wrong_words += part.words[i] != part.first + i;
  if (verdict.wrong_words > 0)
    verdict.reason =
        std::to_string(verdict.wrong_words) + " of " + std::to_string(part.count) + " words are wrong after the replay";
  else if (done.sum != due || done.strayed > 0)
    verdict.reason = "updates were lost or corrupted between ranks";
  return verdict;
}

// Sets each word to its own index.
inline void reset(const updates::Part& part) {
  for (std::uint64_t i = 0; i < part.count; ++i) part.words[i] = part.first + i;
}

}  // namespace kiviat
