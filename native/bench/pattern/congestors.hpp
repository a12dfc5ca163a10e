// Traffic patterns that cause congestion. Congestors repeat them until the victims have finished.
#pragma once

#include <array>

#include "bench/onesided/creation.hpp"
#include "bench/pattern/settings.hpp"

namespace kiviat {

enum class Load { alltoall, incast, broadcast, put_incast, get_broadcast };
inline constexpr std::array loads = {Load::alltoall, Load::incast, Load::broadcast, Load::put_incast,
                                     Load::get_broadcast};
inline constexpr std::array load_names = {"alltoall", "incast", "broadcast", "put_incast", "get_broadcast"};
inline bool one_sided(Load load) { return load == Load::put_incast || load == Load::get_broadcast; }

class Congestors {
 public:
  // Messages have bytes_of(bytes, congestors) bytes.
  Congestors(Trial& t, std::int64_t bytes, int congestors)
      : trial_(t),
        size_(congestors),
        bytes_(bytes_of(bytes, congestors)),
        out_(t.buffer(room_for())),
        in_(t.buffer(room_for())),
        exposed_(t.buffer(room_for())) {}
  ~Congestors() {
    if (window_ == MPI_WIN_NULL) return;
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  Congestors(const Congestors&) = delete;
  Congestors& operator=(const Congestors&) = delete;

  // Returns the bytes of a message: `wanted`, or less if the messages of all congestors would not fit into memory.
  static int bytes_of(std::int64_t wanted, int congestors) {
    return static_cast<int>(std::clamp<std::int64_t>(room / (in_flight * congestors), 1, wanted));
  }

  // `comm` is that of the congestors, `members` their ranks in the trial.
  void meet(MPI_Comm comm, std::vector<int> members) {
    comm_ = comm, members_ = std::move(members);
    MPI_Comm_rank(comm_, &rank_);
  }

  // Creates the windows of one-sided loads; must be called after the trial has allocated its memory. Returns MPI's
  // error text, or an empty string.
  std::string expose() {
    const auto size = static_cast<MPI_Aint>(exposed_.first().size());
    const std::string trouble = trouble_in(
        comm_, [&] { return MPI_Win_create(exposed_.first().data(), size, 1, MPI_INFO_NULL, comm_, &window_); });
    if (trouble.empty())
      MPI_Win_lock_all(0, window_);
    else
      window_ = MPI_WIN_NULL;
    return trouble;
  }

  // Declares to the trial the data that one call must deliver.
  void expect(Load load) {
    broadcasts_ = 0;
    const std::size_t share = static_cast<std::size_t>(in_flight) * static_cast<std::size_t>(bytes_);
    const bool receives = rank_ == target();
    Buffer& received = load == Load::put_incast ? exposed_ : in_;
    std::vector<Piece> pieces;
    switch (load) {
      case Load::alltoall: {
        const auto block = static_cast<std::size_t>(bytes_);
        trial_.sends(out_, block * static_cast<std::size_t>(size_));
        for (std::size_t i = 0; i < members_.size(); ++i)
          pieces.push_back({i * block, block, members_[i], static_cast<std::size_t>(rank_) * block});
        break;
      }
      case Load::incast:
      case Load::put_incast:
        trial_.sends(out_, share);
        for (std::size_t i = 0; receives && i + 1 < members_.size(); ++i)
          pieces.push_back({i * share, share, members_[i], 0});
        break;
      case Load::broadcast:
        if (rank_ == 0)
          trial_.sends(out_, share);
        else
          pieces.push_back({0, share, members_.front(), 0});
        break;
      case Load::get_broadcast:
        if (receives)
          trial_.sends(exposed_, share);
        else
          pieces.push_back({0, share, members_.back(), 0});
        break;
    }
    trial_.expects(received, std::move(pieces));
  }

  // Executes one call that leaves its payload in place for a check.
  void checked(Load load) {
    const auto settle = [&] {
      if (one_sided(load)) MPI_Win_sync(window_);
      MPI_Barrier(comm_);
    };
    settle();
    call(load);
    settle();
    if (one_sided(load)) MPI_Win_sync(window_);
  }

  // Repeats the load until the first victim, rank `from` of the trial, sends a message. The first congestor receives
  // this message. At intervals it tells the others how many calls follow until the next check, or that the load ends.
  // So all congestors make the same number of calls, and none is ahead of another by more than one interval.
  void go_on(Load load, int from) {
    int calls = 1, word = 0;
    MPI_Request end = MPI_REQUEST_NULL;
    if (rank_ == 0) MPI_Irecv(&word, 1, MPI_INT, from, stop_tag, trial_.comm(), &end);
    for (;;) {
      const int mine = rank_ == 0 ? calls : 0;
      MPI_Allreduce(&mine, &calls, 1, MPI_INT, MPI_MAX, comm_);
      if (calls == 0) return;
      const double start_s = clock::now();
      for (int i = 0; i < calls; ++i) call(load);
      if (rank_ != 0) continue;
      int ended;
      MPI_Test(&end, &ended, MPI_STATUS_IGNORE);
      const double wanted = calls * round_s / std::max(clock::now() - start_s, 1e-9);
      calls = ended ? 0 : static_cast<int>(std::clamp(wanted, 1.0, std::min(4.0 * calls, 256.0)));
    }
  }
  static void stop(const Trial& t, int leader) {
    constexpr int word = 0;
    MPI_Send(&word, 1, MPI_INT, leader, stop_tag, t.comm());
  }

 private:
  static constexpr std::int64_t room = 8 << 20;
  static constexpr int in_flight = 4;  // messages in flight per congestor
  static constexpr int stop_tag = 1;
  static constexpr double round_s = 2e-3;  // interval between two checks

  std::size_t room_for() const {
    return static_cast<std::size_t>(in_flight) * static_cast<std::size_t>(size_) * static_cast<std::size_t>(bytes_);
  }
  // Target of the incast: the last rank, because the first one must check for the end.
  int target() const { return size_ - 1; }

  void call(Load load) {
    switch (load) {
      case Load::alltoall:
        MPI_Alltoall(out_.first().data(), bytes_, MPI_BYTE, in_.first().data(), bytes_, MPI_BYTE, comm_);
        break;
      case Load::incast:
        rank_ == target() ? receive_all() : send_some();
        break;
      case Load::broadcast: {
        const int root = broadcasts_++ % size_;
        MPI_Bcast((rank_ == root ? out_ : in_).first().data(), in_flight * bytes_, MPI_BYTE, root, comm_);
        break;
      }
      case Load::put_incast:
      case Load::get_broadcast:
        if (rank_ == target()) break;
        for (int i = 0; i < in_flight; ++i) {
          const MPI_Aint own = static_cast<MPI_Aint>(i) * bytes_,
                         slot = static_cast<MPI_Aint>(rank_) * in_flight * bytes_;
          if (load == Load::put_incast)
            MPI_Put(out_.first().data() + own, bytes_, MPI_BYTE, target(), slot + own, bytes_, MPI_BYTE, window_);
          else
            MPI_Get(in_.first().data() + own, bytes_, MPI_BYTE, target(), own, bytes_, MPI_BYTE, window_);
        }
        MPI_Win_flush(target(), window_);
        break;
    }
  }
  void send_some() {
    requests_.resize(in_flight);
    for (int i = 0; i < in_flight; ++i)
      MPI_Isend(out_.first().data() + static_cast<std::size_t>(i) * static_cast<std::size_t>(bytes_), bytes_, MPI_BYTE,
                target(), 0, comm_, &requests_[i]);
    MPI_Waitall(in_flight, requests_.data(), MPI_STATUSES_IGNORE);
  }
  void receive_all() {
    const int messages = in_flight * (size_ - 1);
    requests_.resize(static_cast<std::size_t>(messages));
    for (int i = 0; i < messages; ++i)
      MPI_Irecv(in_.first().data() + static_cast<std::size_t>(i) * static_cast<std::size_t>(bytes_), bytes_, MPI_BYTE,
                i / in_flight, 0, comm_, &requests_[i]);
    MPI_Waitall(messages, requests_.data(), MPI_STATUSES_IGNORE);
  }

  Trial& trial_;
  int size_, bytes_;
  Buffer &out_, &in_, &exposed_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<int> members_;
  int rank_ = 0, broadcasts_ = 0;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<MPI_Request> requests_;
};

}  // namespace kiviat
