// Common parts of point-to-point benchmarks: partners and message buffers.
#pragma once

#include <algorithm>

#include "measure/trial.hpp"
#include "platform/clock.hpp"
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

inline Axis distance_axis() {
  return {"distance", "1", "ranks", "distance of the partner from rank 0", Bounds{1, largest_int}};
}

inline constexpr Bounds window_bounds{1, 1'000'000};
inline Axis window_axis() {
  return {"window", "64", "messages", "messages in flight per pair (IMB uses 256)", window_bounds};
}

// Returns how many messages of `bytes` bytes a checked window has. While windows are timed, their messages share
// memory, as in the programs of IMB and OSU, and only the last to arrive could be looked at. So checks send windows
// whose messages lie side by side: as many as fit into 1 MiB, and at least `least`.
inline int checked_window(int window, std::int64_t bytes, int least) {
  constexpr std::int64_t most_bytes = 1 << 20;
  return static_cast<int>(
      std::min<std::int64_t>(window, std::max<std::int64_t>(least, most_bytes / std::max<std::int64_t>(bytes, 1))));
}

// Throws Skip if a model says nothing of what follows the first message of a stream. `stream` sends a number of
// messages; if each further one adds next to nothing, neither links nor processors limit them, and the predicted rate
// would have no bound. On real machines a further message takes a tenth of the first one's time or more. Collective.
template <class Stream>
void refuse_free_streams(Trial& t, int window, const Stream& stream) {
  if (!t.deterministic() || window == 1) return;
  const auto seconds = [&](int messages) {
    t.together();
    const double start_s = clock::now();
    stream(messages);
    return t.worst(clock::now() - start_s);
  };
  seconds(1);  // the first message on a communicator may need further ones
  const double first_s = seconds(1), further_s = (seconds(window) - first_s) / (window - 1);
  if (32 * further_s < first_s)
    throw Skip("the model limits neither links nor processors in a stream of such messages, so it cannot say its rate");
}

}  // namespace kiviat
