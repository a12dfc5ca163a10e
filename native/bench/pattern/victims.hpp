// Patterns that suffer from congestion, executed among the victims; each rank times each call.
#pragma once

#include <array>
#include <cmath>

#include "bench/pattern/rings.hpp"
#include "bench/pattern/settings.hpp"
#include "measure/payload.hpp"

namespace kiviat {

enum class Suffered { latency, bandwidth, allreduce };
inline constexpr std::array suffered = {Suffered::latency, Suffered::bandwidth, Suffered::allreduce};
inline constexpr std::array suffered_names = {"latency", "bandwidth", "allreduce"};

// Times of calls, over all victims.
struct CallTimes {
  double mean_s = NAN, median_s = NAN, p99_s = NAN;
};

class Victims {
 public:
  // Bandwidth is measured with messages of `bytes`; each victim reports at most `most_samples` calls.
  Victims(Trial& t, std::int64_t bytes)
      : trial_(t),
        bytes_(Trial::fitting(bytes, "B")),
        out_(t.buffer(window * std::max<std::size_t>(bytes, 2 * short_bytes))),
        in_(t.buffer(window * std::max<std::size_t>(bytes, 2 * short_bytes))) {}

  static constexpr int window = 8;  // number of messages in flight in the bandwidth pattern

  // `comm` is that of the victims, `members` their ranks in the trial.
  void meet(MPI_Comm comm, std::vector<int> members) {
    comm_ = comm, members_ = std::move(members);
    MPI_Comm_rank(comm_, &rank_);
    const int size = static_cast<int>(members_.size());
    around_ = ring_neighbours(random_order(size, trial_.seed()), {size}, rank_);
  }

  // Executes calls for `seconds`, after a warm-up of a quarter of that, and returns their times. Collective over the
  // victims. Payload is checked before and after the timed calls, while the congestors are active.
  Reservoir times(Suffered what, double seconds, std::size_t most_samples) {
    Reservoir times(most_samples);
    check(what);
    double start_s = clock::now(), elapsed_s = 0, block_s = 0;
    for (std::int64_t block = 2; times.count() == 0 || elapsed_s < 1.25 * seconds;) {
      const bool counts = elapsed_s >= 0.25 * seconds;
      const double begun_s = clock::now();
      double before_s = begun_s;
      for (std::int64_t i = 0; i < block; ++i) {
        call(what);
        const double now_s = clock::now();
        if (counts) times.add((now_s - before_s) / (what == Suffered::latency ? 2 : 1));
        before_s = now_s;
      }
      const double mine[] = {before_s - start_s, before_s - begun_s};
      double most[2];
      MPI_Allreduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, comm_);
      elapsed_s = most[0], block_s = most[1];
      const double calls = static_cast<double>(block) * seconds / 16 / std::max(block_s, 1e-9);
      block = std::clamp<std::int64_t>(std::llround(calls), 1, 4 * block);
    }
    check(what);
    return times;
  }

  // Returns whether all payload so far arrived intact on this rank.
  bool good() const { return good_; }

  // Bytes that a rank sends in one call of the bandwidth pattern.
  double bytes_of_call() const { return static_cast<double>(window) * bytes_; }

 private:
  // Latency: each rank sends a message to its right neighbour and receives one from the left, then the reverse; the
  // time is half of both. Bandwidth: each rank sends a window of messages to the right and receives one from the left.
  void call(Suffered what) {
    std::byte *out = out_.first().data(), *in = in_.first().data();
    const auto [left, right] = around_;
    if (what == Suffered::latency) {
      MPI_Sendrecv(out, short_bytes, MPI_BYTE, right, 0, in, short_bytes, MPI_BYTE, left, 0, comm_, MPI_STATUS_IGNORE);
      MPI_Sendrecv(out + short_bytes, short_bytes, MPI_BYTE, left, 1, in + short_bytes, short_bytes, MPI_BYTE, right, 1,
                   comm_, MPI_STATUS_IGNORE);
    } else if (what == Suffered::bandwidth) {
      std::array<MPI_Request, 2 * window> requests;
      const auto at = [this](int i) { return static_cast<std::size_t>(i) * static_cast<std::size_t>(bytes_); };
      for (int i = 0; i < window; ++i) MPI_Irecv(in + at(i), bytes_, MPI_BYTE, left, 0, comm_, &requests[i]);
      for (int i = 0; i < window; ++i) MPI_Isend(out + at(i), bytes_, MPI_BYTE, right, 0, comm_, &requests[window + i]);
      MPI_Waitall(2 * window, requests.data(), MPI_STATUSES_IGNORE);
    } else {
      MPI_Allreduce(out, in, floats, MPI_FLOAT, MPI_SUM, comm_);
    }
  }

  // Executes one call and checks its payload. All victims count the calls in the same way, so their seeds agree.
  void check(Suffered what) {
    const std::uint64_t seed = trial_.seed() + ++checks_;
    const int left = members_[static_cast<std::size_t>(around_.left)],
              right = members_[static_cast<std::size_t>(around_.right)];
    const auto sums = [](Buffer& buffer) { return std::span(reinterpret_cast<float*>(buffer.first().data()), floats); };
    payload::fill(out_.first(), seed, trial_.rank());
    if (what == Suffered::allreduce) {
      payload::fill_addends(sums(out_), seed, rank_);
      payload::poison_sums(sums(in_), seed, static_cast<int>(members_.size()), 0);
      call(what);
      good_ = good_ && payload::first_wrong_sum(sums(in_), seed, static_cast<int>(members_.size()), 0) == floats;
      return;
    }
    const std::size_t bytes =
        what == Suffered::latency ? short_bytes : static_cast<std::size_t>(window) * static_cast<std::size_t>(bytes_);
    const auto from_left = in_.first().first(bytes),
               from_right = in_.first().subspan(bytes, what == Suffered::latency ? bytes : 0);
    payload::poison(from_left, seed, left);
    payload::poison(from_right, seed, right, bytes);
    call(what);
    good_ = good_ && payload::first_wrong(from_left, seed, left) == from_left.size() &&
            payload::first_wrong(from_right, seed, right, bytes) == from_right.size();
  }

  static constexpr int floats = 2;  // 8 bytes

  Trial& trial_;
  int bytes_;
  Buffer &out_, &in_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<int> members_;
  int rank_ = 0;
  Neighbours around_{0, 0};
  std::uint64_t checks_ = 0;
  bool good_ = true;
};

}  // namespace kiviat
