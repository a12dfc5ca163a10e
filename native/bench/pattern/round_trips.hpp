// Ping-pong of one pair while other ranks sleep, or of many disjoint pairs at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/pattern/settings.hpp"
#include "platform/clock.hpp"

namespace kiviat {

class RoundTrips {
 public:
  RoundTrips(Trial& t, std::int64_t largest)
      : t_(t), most_bytes_(Trial::fitting(largest, "B")), out_(t.buffer(most_bytes_)), in_(t.buffer(most_bytes_)) {}

  // Executes one round trip with `peer`; does nothing if that is MPI_PROC_NULL.
  void operator()(int peer, std::int64_t bytes) {
    if (peer == MPI_PROC_NULL) return;
    const int count = static_cast<int>(bytes);
    const auto send = [&] { MPI_Send(out_.next(), count, MPI_BYTE, peer, 0, t_.comm()); };
    const auto receive = [&] { MPI_Recv(in_.next(), count, MPI_BYTE, peer, 0, t_.comm(), MPI_STATUS_IGNORE); };
    if (leads(peer)) {
      send(), receive();
    } else {
      receive(), send();
    }
  }

  // Checks before and after the measurement that the payload arrives intact in both directions, in all pairs at once.
  // Collective.
  void verify(int peer, std::int64_t bytes) {
    expect(peer, bytes);
    t_.verify_twice([this, peer, bytes](std::int64_t) { (*this)(peer, bytes); });
  }

  // The same, now only. Collective.
  void verify_once(int peer, std::int64_t bytes) {
    expect(peer, bytes);
    t_.verify([&](std::int64_t) { (*this)(peer, bytes); });
  }

  enum class Of { median, least };

  // Returns half of the round-trip time in seconds on the lower rank of the pair; NaN on others. It is the median or
  // the least of batches that together last about `budget_s`, or of a single round trip if that takes longer. Only the
  // pair takes part.
  double half_s(int peer, std::int64_t bytes, double budget_s, Of of = Of::median) {
    if (peer == MPI_PROC_NULL) return NAN;
    if (t_.deterministic()) budget_s = 0;  // 0: a single round trip
    (*this)(peer, bytes);                  // warm-up
    std::vector<double> halves_s;
    double spent_s = 0;
    for (std::int64_t calls = 1; calls > 0;) {
      const double start_s = clock::now();
      for (std::int64_t call = 0; call < calls; ++call) (*this)(peer, bytes);
      const double taken_s = clock::now() - start_s;
      // Batches that are too short only determine the number of calls.
      if (taken_s >= budget_s / 8) halves_s.push_back(taken_s / static_cast<double>(2 * calls)), spent_s += taken_s;
      calls = agreed(peer, next_batch(calls, taken_s, spent_s, budget_s));
    }
    if (!leads(peer)) return NAN;
    return of == Of::least ? std::ranges::min(halves_s) : median(std::move(halves_s));
  }

 private:
  bool leads(int peer) const { return t_.rank() < peer; }

  void expect(int peer, std::int64_t bytes) {
    t_.forget_payload();
    if (peer == MPI_PROC_NULL) return;
    t_.sends(out_, static_cast<std::size_t>(bytes));
    t_.expects(in_, {{0, static_cast<std::size_t>(bytes), peer}});
  }

  static std::int64_t next_batch(std::int64_t calls, double taken_s, double spent_s, double budget_s) {
    if (spent_s + taken_s / 2 > budget_s) return 0;
    const double fitting = static_cast<double>(calls) * budget_s / 4 / std::max(taken_s, 1e-9);
    return static_cast<std::int64_t>(std::clamp(fitting, 1.0, 16.0 * static_cast<double>(calls)));
  }

  // Returns the number of calls chosen by the lower rank.
  std::int64_t agreed(int peer, std::int64_t calls) {
    if (leads(peer))
      MPI_Send(&calls, 1, MPI_INT64_T, peer, 1, t_.comm());
    else
      MPI_Recv(&calls, 1, MPI_INT64_T, peer, 1, t_.comm(), MPI_STATUS_IGNORE);
    return calls;
  }

  Trial& t_;
  int most_bytes_;
  Buffer &out_, &in_;
};

}  // namespace kiviat
