// Data that each collective sends, and where it must arrive. The blocking, the non-blocking and the v form of a
// collective share one layout. `bytes` is the size of a block of one rank (or pair), or of a whole vector.
#pragma once

#include <algorithm>

#include "measure/trial.hpp"

namespace kiviat {

// --- bytes ----------------------------------------------------------------------------------------

struct Blocks {
  Buffer &in, &out;
  int count;  // bytes of one block
};

// Expected data with one block per rank, in rank order. The block of each sender starts at byte `offset` of its
// message.
inline std::vector<Piece> one_of_each(const Trial& t, std::size_t offset) {
  const auto bytes = static_cast<std::size_t>(t.bytes());
  std::vector<Piece> pieces;
  for (int rank = 0; rank < t.ranks(); ++rank) pieces.push_back({rank * bytes, bytes, rank, offset});
  return pieces;
}

// Total bytes of the blocks of all ranks. In rooted collectives only ranks that may be root allocate them.
inline std::size_t all_blocks(const Trial& t) { return static_cast<std::size_t>(t.bytes()) * t.ranks(); }
inline std::size_t all_blocks_if_root(const Trial& t) { return t.may_be_root() ? all_blocks(t) : 0; }

// Buffer from which the root sends its vector, and in which the other ranks receive it.
inline Buffer& bcast_buffer(Trial& t) {
  Buffer& data = t.buffer(t.bytes());
  t.by_root([&t, &data](int root) {
    if (t.rank() == root)
      t.sends(data);
    else
      t.expects(data, {{0, data.first().size(), root}});
  });
  return data;
}

inline Blocks gather_blocks(Trial& t) {
  const int count = t.count();
  const Blocks blocks{t.buffer(t.bytes()), t.buffer(all_blocks_if_root(t)), count};
  t.by_root([&t, blocks](int root) {
    t.sends(blocks.in);
    if (t.rank() == root) t.expects(blocks.out, one_of_each(t, 0));
  });
  return blocks;
}

inline Blocks scatter_blocks(Trial& t) {
  const int count = t.count();
  const Blocks blocks{t.buffer(all_blocks_if_root(t)), t.buffer(t.bytes()), count};
  t.by_root([&t, blocks](int root) {
    if (t.rank() == root) t.sends(blocks.in);
    const auto bytes = static_cast<std::size_t>(t.bytes());
    t.expects(blocks.out, {{0, bytes, root, t.rank() * bytes}});
  });
  return blocks;
}

inline Blocks allgather_blocks(Trial& t) {
  const int count = t.count();
  const Blocks blocks{t.buffer(t.bytes()), t.buffer(all_blocks(t)), count};
  t.sends(blocks.in);
  t.expects(blocks.out, one_of_each(t, 0));
  return blocks;
}

inline Blocks alltoall_blocks(Trial& t) {
  const int count = t.count();
  const Blocks blocks{t.buffer(all_blocks(t)), t.buffer(all_blocks(t)), count};
  t.sends(blocks.in);
  t.expects(blocks.out, one_of_each(t, t.rank() * static_cast<std::size_t>(t.bytes())));
  return blocks;
}

// Counts and displacements of the v forms: equal counts as in IMB, blocks without gaps. Must be built before the
// buffers, so that displacements that exceed int skip the case before memory is allocated.
struct EqualCounts {
  explicit EqualCounts(const Trial& t) : counts(t.ranks(), t.count()) {
    Trial::fitting((t.ranks() - 1) * t.bytes(), "B before the last block");
    for (int rank = 0; rank < t.ranks(); ++rank) displacements.push_back(rank * t.count());
  }
  std::vector<int> counts, displacements;
};

// --- sums -----------------------------------------------------------------------------------------

// FLOAT and SUM, as in IMB.
struct Vectors {
  Buffer &in, &out;
  int elements;
};

inline int elements_of(const Trial& t) {
  return Trial::fitting(t.bytes() / static_cast<std::int64_t>(sizeof(float)), "elements");
}

inline Vectors allreduce_vectors(Trial& t) {
  const int elements = elements_of(t);
  const Vectors vectors{t.buffer(t.bytes()), t.buffer(t.bytes()), elements};
  t.contributes(vectors.in, elements);
  t.expects_sum(vectors.out, elements);
  return vectors;
}

inline Vectors reduce_vectors(Trial& t) {
  const int elements = elements_of(t);
  const Vectors vectors{t.buffer(t.bytes()), t.buffer(t.may_be_root() ? t.bytes() : 0), elements};
  t.by_root([&t, vectors](int root) {
    t.contributes(vectors.in, vectors.elements);
    if (t.rank() == root) t.expects_sum(vectors.out, vectors.elements);
  });
  return vectors;
}

inline Axis meaning_axis() {
  return {"meaning",
          "split",
          "",
          "bytes is the size of the whole vector, or of the part that each rank receives",
          {"split", "per_rank"}};
}

struct SplitVectors {
  Buffer &in, &out;
  std::vector<int> counts;  // elements that each rank receives
};

// Each rank receives a part of the sum; if the elements do not divide evenly, the first ranks receive one more each.
inline SplitVectors reduce_scatter_vectors(Trial& t) {
  const std::int64_t given = elements_of(t), ranks = t.ranks();
  const std::int64_t total = t.text("meaning") == "split" ? given : given * ranks;
  Trial::fitting(total, "elements");  // libraries sum the counts in an int
  std::vector<int> counts;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    counts.push_back(static_cast<int>(total / ranks + (rank < total % ranks)));
  const std::int64_t mine = counts[t.rank()],
                     first = t.rank() * (total / ranks) + std::min<std::int64_t>(t.rank(), total % ranks);

  const SplitVectors vectors{t.buffer(total * sizeof(float)), t.buffer(mine * sizeof(float)), std::move(counts)};
  t.contributes(vectors.in, total);
  t.expects_sum(vectors.out, mine, first);
  return vectors;
}

}  // namespace kiviat
