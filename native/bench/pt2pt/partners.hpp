// Common parts of point-to-point benchmarks: partners and message buffers.
#pragma once

#include "measure/trial.hpp"
#include "support/failure.hpp"

namespace kiviat {

// Rank r of the first half and rank r + P/2 of the second.
struct Halves {
  explicit Halves(const Trial& t)
      : pairs(t.ranks() / 2), first(t.rank() < pairs), partner(first ? t.rank() + pairs : t.rank() - pairs) {}
  int pairs;
  bool first;  // this rank is in the first half
  int partner;
};

// The neighbours of a periodic chain.
struct Chain {
  explicit Chain(const Trial& t) : left((t.rank() + t.ranks() - 1) % t.ranks()), right((t.rank() + 1) % t.ranks()) {}
  int left, right;
};

// Buffers for a message to send and for one expected from `sender`.
struct Messages {
  Messages(Trial& t, int sender) : count(t.count()), out(t.buffer(t.bytes())), in(t.buffer(t.bytes())) {
    t.sends(out);
    t.expects(in, {{0, in.first().size(), sender}});
  }
  int count;
  Buffer &out, &in;
};

inline Axis distance_axis() { return {"distance", "1", "ranks", "distance of the partner from rank 0"}; }

inline Axis window_axis() { return {"window", "64", "messages", "messages in flight per pair (IMB uses 256)"}; }

inline int window_of(const Trial& t) {
  const std::int64_t window = t.integer("window");
  if (window < 1 || window > 1'000'000) throw UsageError("window=" + std::to_string(window) + ": give 1 to 1000000");
  return static_cast<int>(window);
}

}  // namespace kiviat
