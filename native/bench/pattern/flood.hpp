// Pairs that saturate their links for a given time: in both directions with MPI_Sendrecv, or in one.
#pragma once

#include <cmath>
#include <vector>

#include "bench/pattern/settings.hpp"
#include "platform/clock.hpp"

namespace kiviat {

class Flood {
 public:
  enum class Ways { both, one };  // from the lower rank to the higher

  Flood(Trial& t, std::int64_t bytes, double seconds, Ways ways = Ways::both)
      : t_(t),
        bytes_(Trial::fitting(bytes, "B")),
        seconds_(seconds),
        ways_(ways),
        out_(t.buffer(bytes_)),
        in_(t.buffer(bytes_)) {}

  // Checks before and after the measurement that the payload arrives intact in all pairs at once. Collective.
  void verify(int partner) {
    t_.forget_payload();
    if (sends(partner)) t_.sends(out_);
    if (receives(partner)) t_.expects(in_, {{0, in_.first().size(), partner}});
    t_.verify_twice([this, partner](std::int64_t) {
      if (partner != MPI_PROC_NULL) exchange(partner);
    });
  }

  // Returns the bandwidth of each pair in bytes per second, summed over its directions, on its lower rank; NaN on other
  // ranks. Ranks without partner sleep. Collective.
  double rate(int partner) {
    t_.together();
    const double bytes_per_s = partner == MPI_PROC_NULL ? NAN : flooded(partner);
    t_.together(partner == MPI_PROC_NULL);
    return t_.rank() < partner ? bytes_per_s : NAN;
  }

  // Returns the values of the ranks that have one (not NaN), in rank order; on rank 0 only.
  std::vector<double> gathered(double mine) const {
    std::vector<double> all(t_.rank() == 0 ? t_.ranks() : 0);
    MPI_Gather(&mine, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, 0, t_.comm());
    std::erase_if(all, [](double value) { return std::isnan(value); });
    return all;
  }

 private:
  // Shares of the time before and after the timed part. Messages before it bring token buckets and windows into their
  // steady state; messages after it keep the load on while other pairs may still be timed.
  static constexpr double before = 0.25, after = 0.1;
  static constexpr double block = 0.02;   // duration of a block of calls, as share of the time
  static constexpr int least_blocks = 3;  // minimum number of blocks before and after, if single messages take long

  struct Block {
    std::int64_t calls = 1, counts = 0;  // number of calls of a block, 0 to end; whether they are timed
  };

  // Progress of a pair, recorded by its lower rank.
  struct Progress {
    int blocks_before = 0, blocks_after = 0;
    double before_s = 0, counted_s = 0, after_s = 0, call_s = 0;
    std::int64_t calls = 0;  // timed calls

    void add(const Block& done, double taken_s) {
      call_s = taken_s / static_cast<double>(done.calls);
      if (done.counts)
        counted_s += taken_s, calls += done.calls;
      else if (calls == 0)
        before_s += taken_s, ++blocks_before;
      else
        after_s += taken_s, ++blocks_after;
    }
    Block next(double seconds) const {
      if (blocks_after >= least_blocks && after_s >= after * seconds) return {0, 0};
      const bool begun = blocks_before >= least_blocks && before_s >= before * seconds, ended = counted_s >= seconds;
      const double fitting = call_s > 0 ? block * seconds / call_s : 1;
      return {static_cast<std::int64_t>(std::clamp(fitting, 1.0, 1e6)), begun && !ended};
    }
  };

  bool sends(int partner) const { return partner != MPI_PROC_NULL && (ways_ == Ways::both || t_.rank() < partner); }
  bool receives(int partner) const { return partner != MPI_PROC_NULL && (ways_ == Ways::both || t_.rank() > partner); }

  void exchange(int partner) {
    const MPI_Comm comm = t_.comm();
    if (ways_ == Ways::both)
      MPI_Sendrecv(out_.next(), bytes_, MPI_BYTE, partner, 0, in_.next(), bytes_, MPI_BYTE, partner, 0, comm,
                   MPI_STATUS_IGNORE);
    else if (t_.rank() < partner)
      MPI_Send(out_.next(), bytes_, MPI_BYTE, partner, 0, comm);
    else
      MPI_Recv(in_.next(), bytes_, MPI_BYTE, partner, 0, comm, MPI_STATUS_IGNORE);
  }

  // While a block is in flight, the lower rank announces the next one, so that the flow is never interrupted.
  double flooded(int partner) {
    Progress progress;
    for (Block now, next; now.calls > 0; now = next) {
      const double start_s = clock::now();
      MPI_Request request;
      if (t_.rank() < partner) {
        next = progress.next(seconds_);
        MPI_Isend(&next, 2, MPI_INT64_T, partner, 1, t_.comm(), &request);
      } else {
        MPI_Irecv(&next, 2, MPI_INT64_T, partner, 1, t_.comm(), &request);
      }
      for (std::int64_t call = 0; call < now.calls; ++call) exchange(partner);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      progress.add(now, clock::now() - start_s);
    }
    return (ways_ == Ways::both ? 2.0 : 1.0) * static_cast<double>(bytes_) * static_cast<double>(progress.calls) /
           progress.counted_s;
  }

  Trial& t_;
  int bytes_;
  double seconds_;
  Ways ways_;
  Buffer &out_, &in_;
};

inline Axis time_axis(std::string milliseconds) {
  return {"time_ms", std::move(milliseconds), "ms", "timed part of streaming, after an untimed part of a quarter of it",
          milliseconds_bounds};
}

}  // namespace kiviat
