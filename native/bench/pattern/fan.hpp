// Fan-in and fan-out: rank 0 receives from, or sends to, a growing number of other ranks at once, as in the congestion
// benchmarks of OSU (7.5). There the number is fixed; the sweep, and the round trips, are Kiviat's.
#pragma once

#include <string>
#include <vector>

#include "bench/pattern/settings.hpp"
#include "bench/pt2pt/partners.hpp"

namespace kiviat {

class Fan {
 public:
  enum class Way { in, out };  // data goes to rank 0, or comes from it

  Fan(Trial& t, Way way)
      : t_(t),
        into_root_(way == Way::in),
        peers_(t.rank() == 0 ? peers_of_root(t) : 1),
        window_(t.count_of("window")),
        count_(bytes_of(t)),
        phase_s_(seconds_of_axis(t, "phase_ms")),
        numbers_(numbers_of(t)),
        checked_(checked_window(window_, static_cast<std::int64_t>(count_) * peers_of_root(t), 1)),
        data_(t.buffer(static_cast<std::size_t>(peers_) * static_cast<std::size_t>(count_))),
        apart_(t.checked_buffer(data_.first().size() * static_cast<std::size_t>(checked_))),
        requests_(static_cast<std::size_t>(peers_) * (static_cast<std::size_t>(window_) + 1)) {}

  void operator()() {
    std::vector<std::vector<double>> bandwidth(numbers_.size()), round_trip_s(numbers_.size());
    std::vector<std::int64_t> windows(numbers_.size()), singles(numbers_.size());
    const int passes = t_.deterministic() ? 1 : most_passes;
    // Numbers of peers alternate, so that drift of the machine does not look like an effect of their number.
    for (int pass = 0; pass < passes; ++pass) {
      for (std::size_t i = 0; i < numbers_.size(); ++i) {
        const double bytes = static_cast<double>(numbers_[i]) * window_ * count_;
        bandwidth[i].push_back(bytes / seconds(numbers_[i], window_, windows[i]));
        round_trip_s[i].push_back(seconds(numbers_[i], 1, singles[i]));
        t_.progressed((pass + static_cast<double>(i + 1) / static_cast<double>(numbers_.size())) / passes);
      }
      t_.report("bandwidth", bandwidth.back().back());
      t_.report("bandwidth_single", bandwidth.front().back());
      if (numbers_.size() > 1) t_.report("bandwidth_ratio", bandwidth.back().back() / bandwidth.front().back());
      t_.report("round_trip", round_trip_s.back().back());
      t_.report("round_trip_single", round_trip_s.front().back());
    }
    tabulate("bandwidth", "B/s", "higher", bandwidth);
    tabulate("round_trip", "s", "lower", round_trip_s);
  }

 private:
  static constexpr int most_passes = 5;

  static int peers_of_root(const Trial& t) { return t.ranks() - 1; }

  static int bytes_of(const Trial& t) {
    if (t.bytes() == 0) throw Skip("bytes=0: empty messages have no bandwidth; give at least 1");
    Trial::fitting(peers_of_root(t) * static_cast<std::int64_t>(t.count_of("window") + 1), "messages at once");
    return t.count();
  }

  // Returns the numbers of peers 1, 2, 4 … and P - 1; or all up to P - 1.
  static std::vector<int> numbers_of(const Trial& t) {
    std::vector<int> numbers;
    const int most = peers_of_root(t);
    for (int n = 1; n < most; n = t.text("peers") == "all" ? n + 1 : 2 * n) numbers.push_back(n);
    numbers.push_back(most);
    return numbers;
  }

  bool idle(int peers) const { return t_.rank() > peers; }

  // A round: rank 0 and its peers exchange `window` messages of data each, and one empty message in the other
  // direction: before the data it asks for them, after the data it acknowledges them. Rank 0 thus never has more than
  // one round in flight.
  void round(int peers, int window) {
    std::byte* const data = data_.next();
    const auto bytes = static_cast<std::size_t>(count_);
    round(peers, window, [&](int of, int) { return data + of * bytes; });
  }

  // A round whose messages lie side by side, so that each can be looked at.
  void checked_round(int peers) {
    std::byte* const data = apart_.first().data();
    const auto bytes = static_cast<std::size_t>(count_);
    round(peers, checked_, [&](int of, int message) { return data + (of * checked_ + message) * bytes; });
  }

  // `place_of(peer, message)` is the memory of a message, with peers counted from 0; a peer's own number is 0.
  template <class Place>
  void round(int peers, int window, const Place& place_of) {
    if (idle(peers)) return;
    if (t_.rank() == 0)
      root(peers, window, place_of);
    else
      peer(window, place_of);
  }

  template <class Place>
  void root(int peers, int window, const Place& place_of) {
    const MPI_Comm comm = t_.comm();
    int started = 0;
    for (int i = 0; i < window; ++i)
      for (int other = 1; other <= peers; ++other) {
        if (into_root_)
          MPI_Irecv(place_of(other - 1, i), count_, MPI_BYTE, other, 0, comm, &requests_[started++]);
        else
          MPI_Isend(place_of(other - 1, i), count_, MPI_BYTE, other, 0, comm, &requests_[started++]);
      }
    for (int other = 1; other <= peers; ++other) {
      if (into_root_)
        MPI_Isend(nullptr, 0, MPI_BYTE, other, 1, comm, &requests_[started++]);
      else
        MPI_Irecv(nullptr, 0, MPI_BYTE, other, 1, comm, &requests_[started++]);
    }
    MPI_Waitall(started, requests_.data(), MPI_STATUSES_IGNORE);
  }

  template <class Place>
  void peer(int window, const Place& place_of) {
    const MPI_Comm comm = t_.comm();
    if (into_root_) MPI_Recv(nullptr, 0, MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < window; ++i) {
      if (into_root_)
        MPI_Isend(place_of(0, i), count_, MPI_BYTE, 0, 0, comm, &requests_[i]);
      else
        MPI_Irecv(place_of(0, i), count_, MPI_BYTE, 0, 0, comm, &requests_[i]);
    }
    MPI_Waitall(window, requests_.data(), MPI_STATUSES_IGNORE);
    if (!into_root_) MPI_Send(nullptr, 0, MPI_BYTE, 0, 1, comm);
  }

  // Returns the seconds of a round. `rounds` is the number of rounds that take phase_ms, 0 until it is known.
  double seconds(int peers, int window, std::int64_t& rounds) {
    const auto once = [&](std::int64_t) { round(peers, window); };
    if (rounds == 0) {
      verify(peers);
      rounds = t_.calls_lasting(phase_s_, 1'000'000, once, idle(peers));
    } else {
      once(0);  // one untimed round reloads the caches after other numbers of peers
    }
    return t_.seconds_of(rounds, once, idle(peers)) / static_cast<double>(rounds);
  }

  void verify(int peers) {
    const std::size_t bytes = static_cast<std::size_t>(count_) * static_cast<std::size_t>(checked_);
    const int rank = t_.rank();
    t_.forget_payload();
    if (!idle(peers)) {
      if ((rank == 0) != into_root_) {
        t_.sends(apart_);
      } else if (rank == 0) {
        std::vector<Piece> pieces;
        for (int other = 1; other <= peers; ++other) pieces.push_back({(other - 1) * bytes, bytes, other});
        t_.expects(apart_, std::move(pieces));
      } else {
        t_.expects(apart_, {{0, bytes, 0, (rank - 1) * bytes}});
      }
    }
    t_.verify_twice([this, peers](std::int64_t) { checked_round(peers); });
  }

  void tabulate(const char* name, const char* unit, const char* better,
                const std::vector<std::vector<double>>& values) {
    std::vector<std::string> names;
    for (const int number : numbers_) names.push_back(std::to_string(number));
    Table& table = t_.table(name, unit, better, {{into_root_ ? "senders" : "receivers", names}});
    for (std::size_t i = 0; i < values.size(); ++i) table.at({i}) = median(values[i]);
  }

  Trial& t_;
  bool into_root_;
  int peers_, window_, count_;  // the most peers of this rank; messages in flight from or to each; bytes of a message
  double phase_s_;
  std::vector<int> numbers_;
  int checked_;  // messages in flight of each peer in checks
  Buffer &data_, &apart_;
  std::vector<MPI_Request> requests_;
};

// Metrics of both; `others` are senders or receivers.
inline std::vector<Quantity> fan_reports(const std::string& others) {
  return {{"bandwidth", "B/s", "higher", "of rank 0, with all " + others},
          {"bandwidth_single", "B/s", "higher", "with one of the " + others},
          {"bandwidth_ratio", "1", "higher", "bandwidth with all " + others + ", relative to one"},
          {"round_trip", "s", "lower", "one message, and an empty one back, with each of all " + others},
          {"round_trip_single", "s", "lower", "with one of the " + others}};
}

inline std::vector<Axis> fan_axes(const std::string& others) {
  return {{"peers",
           "doubling",
           "",
           "numbers of " + others + ": 1, 2, 4 … and P - 1, or all up to P - 1",
           {"doubling", "all"}},
          window_axis(),
          {"phase_ms", "10", "ms",
           "time for each number of " + others + ", for bandwidth and round trips, in each of five passes",
           milliseconds_bounds}};
}

}  // namespace kiviat
