// A pattern in which every rank sends to some ranks and receives from as many, executed by three methods.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/pattern/rings.hpp"
#include "measure/trial.hpp"

namespace kiviat {

// A message that a rank sends, and one that it receives. Message i of a rank corresponds to message i of its receiver.
// MPI_PROC_NULL: no message (not with alltoallv).
struct Message {
  int to, from;
};

struct Pattern {
  std::string name;
  std::vector<Message> mine;  // messages of this rank
  std::int64_t total;         // number of messages of all ranks
};

enum class Method { sendrecv, alltoallv, nonblocking };
inline constexpr std::array methods = {Method::sendrecv, Method::alltoallv, Method::nonblocking};
inline constexpr std::array method_names = {"sendrecv", "alltoallv", "nonblocking"};

// Messages to both neighbours in rings. In a ring of two ranks both neighbours are the same rank, which gets one
// message, as in b_eff, or both, as in HPC Challenge.
enum class OnlyNeighbour { one_message, both_messages };

inline Pattern ring_pattern(std::string name, const std::vector<int>& order, const std::vector<int>& sizes, int rank,
                            OnlyNeighbour gets = OnlyNeighbour::one_message) {
  const bool both = gets == OnlyNeighbour::both_messages;
  const auto [left, right] = ring_neighbours(order, sizes, rank);
  Pattern pattern{std::move(name), {{right, left}}, 0};
  if (left != right || both) pattern.mine.push_back({left, right});
  for (const int size : sizes) pattern.total += size == 2 && !both ? 2 : 2 * size;
  return pattern;
}

// Returns the most even grid, as in b_eff's program (3.6): it uses as many ranks as possible, and its last dimension is
// larger than 1. With few ranks it may be a line.
inline std::vector<int> grid_dims(int ranks, int dimensions) {
  for (int used = ranks;; --used) {
    std::vector<int> dims(static_cast<std::size_t>(dimensions), 0);
    MPI_Dims_create(used, dimensions, dims.data());
    if (dims.back() > 1 || (used < 8 && used % 2 == 0) || used < 4) return dims;
  }
}

// Messages to both neighbours along the given dimensions of a periodic grid in row-major order. Ranks beyond the grid
// are idle.
inline Pattern grid_pattern(std::string name, const std::vector<int>& dims, const std::vector<int>& along, int rank) {
  Pattern pattern{std::move(name), {}, 0};
  std::int64_t ranks = 1;
  for (const int dim : dims) ranks *= dim;
  for (const int dimension : along) {
    const int length = dims[dimension];
    if (length < 2) continue;
    pattern.total += ranks * (length > 2 ? 2 : 1);
    if (rank >= ranks) continue;
    int stride = 1;
    for (std::size_t inner = dimension + 1; inner < dims.size(); ++inner) stride *= dims[inner];
    const int at = rank / stride % length;
    const auto moved = [&](int by) { return rank + ((at + by + length) % length - at) * stride; };
    pattern.mine.push_back({moved(1), moved(-1)});
    if (length > 2) pattern.mine.push_back({moved(-1), moved(1)});
  }
  return pattern;
}

// Messages of up to `largest` bytes. If calls `rotate`, or with cache=off, their positions do, so that successive calls
// use data that is not in the cache.
class Exchange {
 public:
  enum class Calls { repeat, rotate };

  // Allocates room for `messages` messages of a rank per call; a grid of three dimensions has six.
  Exchange(Trial& t, std::size_t largest, Calls calls, std::size_t messages = 6)
      : trial_(t),
        rotates_(calls == Calls::rotate || t.text("cache") == "off"),
        out_(t.buffer(messages * std::max<std::size_t>(largest, 1))),
        in_(t.buffer(messages * std::max<std::size_t>(largest, 1))),
        room_(std::min(out_.total_bytes(), in_.total_bytes())),
        counts_(4 * static_cast<std::size_t>(t.ranks())),
        requests_(2 * messages) {}

  void set(const Pattern& pattern, std::int64_t bytes) {
    pattern_ = pattern;
    bytes_ = static_cast<int>(bytes);
    at_ = (at_ + 7) / 8 * 8;  // continues behind the last pattern's data, which is out of the cache by then
  }

  void operator()(Method method) {
    const std::size_t step = pattern_.mine.size() * static_cast<std::size_t>(bytes_);
    if (!rotates_ || at_ + step > room_) at_ = 0;
    switch (method) {
      case Method::sendrecv:
        sendrecv();
        break;
      case Method::alltoallv:
        alltoallv();
        break;
      case Method::nonblocking:
        nonblocking();
        break;
    }
    at_ += step;
  }

  // Executes one round trip between the two ranks of communicator `pair`.
  void round_trip(MPI_Comm pair, int bytes) {
    int rank;
    MPI_Comm_rank(pair, &rank);
    std::byte *from = out_.first().data(), *to = in_.first().data();
    if (rank == 0) MPI_Send(from, bytes, MPI_BYTE, 1, 0, pair);
    MPI_Recv(to, bytes, MPI_BYTE, 1 - rank, 0, pair, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(from, bytes, MPI_BYTE, 0, 0, pair);
  }

  // Checks before and after the measurement that both messages of a round trip arrive intact. Collective; `pair` is
  // null on all other ranks.
  void verify_round_trip(MPI_Comm pair, int bytes) {
    trial_.forget_payload();
    if (pair != MPI_COMM_NULL) {
      trial_.sends(out_, static_cast<std::size_t>(bytes));
      trial_.expects(in_, {{0, static_cast<std::size_t>(bytes), 1 - trial_.rank(), 0}});
    }
    trial_.verify_twice([this, pair, bytes](std::int64_t) {
      if (pair != MPI_COMM_NULL) round_trip(pair, bytes);
    });
  }

  // Checks before and after the measurement that the messages of the pattern arrive intact with this method. Returns
  // the first verdict. Collective.
  bool verify(Method method) {
    trial_.forget_payload();
    trial_.sends(out_, pattern_.mine.size() * static_cast<std::size_t>(bytes_));
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < pattern_.mine.size(); ++i)
      if (pattern_.mine[i].from != MPI_PROC_NULL)
        pieces.push_back({i * bytes_, static_cast<std::size_t>(bytes_), pattern_.mine[i].from, i * bytes_});
    trial_.expects(in_, std::move(pieces));
    return trial_.verify_twice([this, method, bytes = bytes_, pattern = pattern_](std::int64_t) {
      const std::size_t at = at_;
      set(pattern, bytes);
      at_ = 0;
      (*this)(method);
      at_ = at;
    });
  }

 private:
  std::byte* out(std::size_t message) { return out_.first().data() + at_ + message * bytes_; }
  std::byte* in(std::size_t message) { return in_.first().data() + at_ + message * bytes_; }

  void sendrecv() {
    for (std::size_t i = 0; i < pattern_.mine.size(); ++i) {
      const auto [to, from] = pattern_.mine[i];
      MPI_Sendrecv(out(i), bytes_, MPI_BYTE, to, 0, in(i), bytes_, MPI_BYTE, from, 0, trial_.comm(), MPI_STATUS_IGNORE);
    }
  }
  void alltoallv() {
    std::ranges::fill(counts_, 0);
    const std::size_t ranks = counts_.size() / 4;
    int *sent = counts_.data(), *sent_at = sent + ranks, *received = sent_at + ranks, *received_at = received + ranks;
    for (std::size_t i = 0; i < pattern_.mine.size(); ++i) {
      const auto [to, from] = pattern_.mine[i];
      sent[to] = received[from] = bytes_;
      sent_at[to] = received_at[from] = static_cast<int>(i) * bytes_;
    }
    MPI_Alltoallv(out(0), sent, sent_at, MPI_BYTE, in(0), received, received_at, MPI_BYTE, trial_.comm());
  }
  void nonblocking() {
    const std::size_t n = pattern_.mine.size();
    for (std::size_t i = 0; i < n; ++i)
      MPI_Irecv(in(i), bytes_, MPI_BYTE, pattern_.mine[i].from, static_cast<int>(i), trial_.comm(), &requests_[i]);
    for (std::size_t i = 0; i < n; ++i)
      MPI_Isend(out(i), bytes_, MPI_BYTE, pattern_.mine[i].to, static_cast<int>(i), trial_.comm(), &requests_[n + i]);
    MPI_Waitall(static_cast<int>(2 * n), requests_.data(), MPI_STATUSES_IGNORE);
  }

  Trial& trial_;
  bool rotates_;
  Buffer &out_, &in_;
  std::size_t room_, at_ = 0;  // of both buffers; position of the next call
  Pattern pattern_;
  int bytes_ = 0;
  std::vector<int> counts_;
  std::vector<MPI_Request> requests_;
};

}  // namespace kiviat
