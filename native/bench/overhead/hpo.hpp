// Common parts of hpo_send and hpo_recv: times rank r of the first half against rank r + P/2 of the second, all pairs
// at once. The result is that of the slowest timed rank.
#pragma once

#include <string>

#include "bench/overhead/overhead.hpp"
#include "bench/pattern/settings.hpp"
#include "bench/pt2pt/partners.hpp"
#include "platform/compute.hpp"
#include "support/failure.hpp"

namespace kiviat {

enum class Side { send, receive };  // operation of the timed rank

// send: the timed rank calls MPI_Isend to a peer that posted its receive before the barrier. receive: the timed rank
// posts its receive before the barrier, and the peer sends after it.
class Host {
 public:
  Host(Trial& t, Side side)
      : trial_(t),
        halves_(t),
        blocking_(side == Side::receive),
        receives_(halves_.first == (side == Side::receive)),
        count_(t.count()),
        data_(t.buffer(t.bytes())) {
    if (receives_)
      t.expects(data_, {{0, data_.first().size(), halves_.partner}});
    else
      t.sends(data_);
  }

  void post() {
    if (receives_) MPI_Irecv(data_.next(), count_, MPI_BYTE, halves_.partner, 0, trial_.comm(), &request_);
  }
  void barrier() { MPI_Barrier(trial_.comm()); }
  void start() {
    if (receives_) return;
    if (blocking_)
      MPI_Send(data_.next(), count_, MPI_BYTE, halves_.partner, 0, trial_.comm());
    else
      MPI_Isend(data_.next(), count_, MPI_BYTE, halves_.partner, 0, trial_.comm(), &request_);
  }
  void work(std::int64_t steps) {
    if (halves_.first) burn(steps);
  }
  void finish() { MPI_Wait(&request_, MPI_STATUS_IGNORE); }

  double now() const { return clock::now(); }
  double slowest(double seconds) const {
    const double most = trial_.worst(halves_.first ? seconds : 0);
    if (most > 1)
      trial_.progressed(done);  // tells the watchdog after every loop, because loops are long on slow networks
    return most;
  }
  double seconds_per_step() const {
    constexpr std::int64_t probe_steps = 20'000;
    double least_s = INFINITY;
    for (int i = 0; i < 5; ++i) {
      const double start_s = clock::now();
      burn(probe_steps);
      least_s = std::min(least_s, (clock::now() - start_s) / probe_steps);
    }
    return trial_.worst(least_s);
  }

  double done = 0;  // completed share of the study

 private:
  Trial& trial_;
  Halves halves_;
  bool blocking_, receives_;
  int count_;
  Buffer& data_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

inline std::vector<Axis> overhead_axes() {
  return {
      {"base_percent", "2", "%", "iterations that are at most this much slower than the base time count towards it",
       Bounds{0, 1000}},
      {"stop_percent", "50", "%", "an iteration that is this much slower than the base time ends the growth of work",
       Bounds{0, 1000}},
      {"repetitions", "7", "", "repetitions of the method; fewer if they take more than 5 seconds", Bounds{1, 1000}}};
}

inline std::vector<Quantity> overhead_reports() {
  return {{"overhead", "s", "lower", "processor time that the message costs"},
          {"availability", "%", "higher",
           "share of the message's duration during which the processor is free, excluding the barrier"},
          {"availability_uncorrected", "%", "higher",
           "availability by the published method, whose base time includes the barrier"},
          {"base_time", "s", "lower", "duration of an iteration with little work, including the barrier"},
          {"message_time", "s", "lower", "duration of an iteration without work, minus that of the barrier alone"},
          {"barrier_time", "s", "lower", "duration of an iteration with neither message nor work"}};
}

// Tabulates medians over the repetitions by amount of work; not every repetition reaches the largest amounts.
inline void overhead_table(Trial& t, const std::vector<Overhead>& all) {
  const auto longest = std::ranges::max_element(all, {}, [](const Overhead& o) { return o.points.size(); });
  std::vector<std::string> steps;
  for (const OverheadPoint& point : longest->points) steps.push_back(std::to_string(point.steps));
  Table& table = t.table("turn", "s", "lower", {{"steps of work", steps}, {"turn", {"with message", "without"}}});
  for (std::size_t row = 0; row < steps.size(); ++row)
    for (std::size_t column = 0; column < 2; ++column) {
      std::vector<double> seconds;
      for (const Overhead& one : all)
        if (row < one.points.size())
          seconds.push_back(column == 0 ? one.points[row].message_s : one.points[row].work_s);
      table.at({row, column}) = median(std::move(seconds));
    }
}

inline void measure_overhead(Trial& t, Side side) {
  constexpr double most_s = 5;
  const auto percent = [&](const char* axis) { return static_cast<double>(t.integer(axis)) / 100; };
  OverheadSettings settings{.base = percent("base_percent"), .stop = percent("stop_percent")};
  if (t.deterministic()) settings.loop_s = settings.point_s = settings.long_s = 0;  // one iteration suffices
  const std::int64_t repetitions = t.deterministic() ? 1 : t.integer("repetitions");
  if (settings.base >= settings.stop)
    throw UsageError("base_percent=" + t.text("base_percent") + " is not below stop_percent=" + t.text("stop_percent"));
  Host host(t, side);
  OverheadMeasurement measure(host, settings);
  t.study([&] {
    if (t.bytes() > 0) t.verify_twice([&](std::int64_t) { measure.once(); });
    std::vector<Overhead> all;
    const double start_s = clock::now();
    while (static_cast<std::int64_t>(all.size()) < repetitions) {
      const Overhead& found = all.emplace_back(measure());
      // 0, or what rounding leaves of it, would claim that the message is free.
      if (t.deterministic() && found.overhead_s() <= 1e-9 * found.points.back().work_s)
        throw Skip("the model takes no processor time for this message, so it cannot say what the overhead is");
      t.report("overhead", found.overhead_s());
      t.report("availability", 100 * found.availability());
      t.report("availability_uncorrected", 100 * found.availability_uncorrected());
      t.report("base_time", found.base_s);
      t.report("message_time", found.message_s);
      t.report("barrier_time", found.barrier_s);
      host.done = static_cast<double>(all.size()) / static_cast<double>(repetitions);
      t.progressed(host.done);
      if (t.worst(clock::now() - start_s) > most_s) break;
    }
    overhead_table(t, all);
  });
}

}  // namespace kiviat
