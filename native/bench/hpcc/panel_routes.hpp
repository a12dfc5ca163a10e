// Broadcast of a panel from the grid column that factored it to the other ranks of its grid row, overlapped with their
// computation. Ring routes follow HPL (Petitet, Whaley, Dongarra, Cleary, "HPL: algorithm", netlib); `tree` is a
// binomial tree, `library` is MPI_Ibcast.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/failure.hpp"

namespace kiviat {

enum class Route { ring, ring_first, two_rings, tree, long_, library };
inline constexpr std::array route_names = {"ring", "ring_first", "two_rings", "tree", "long", "library"};

inline Route route_named(std::string_view name) {
  for (std::size_t i = 0; i < route_names.size(); ++i)
    if (route_names[i] == name) return static_cast<Route>(i);
  throw UsageError("bcast is '" + std::string(name) + "': give ring, ring_first, two_rings, tree, long or library");
}

// Predecessor and successors of a rank on a route. All ranks are given as distances from the root.
struct RouteLink {
  int from = -1;
  std::vector<int> to = {};
};

inline RouteLink link_of(Route route, int distance, int ranks) {
  RouteLink link{distance - 1, {}};
  const auto hand_to = [&](int next) {
    if (next < ranks) link.to.push_back(next);
  };
  switch (route) {
    case Route::ring_first:  // the next rank, which factors the next panel, does not forward
      if (distance == 2) link.from = 0;
      if (distance == 0) hand_to(1), hand_to(2);
      if (distance > 1) hand_to(distance + 1);
      break;
    case Route::two_rings: {
      const int second = (ranks + 1) / 2;
      if (distance == second) link.from = 0;
      if (distance == 0 && second > 1) hand_to(second);
      if (distance + 1 != second || distance == 0) hand_to(distance + 1);
      break;
    }
    case Route::tree: {
      int low = 1;  // lowest set bit of the distance: the predecessor differs in it
      while (low < ranks && !(distance & low)) low *= 2;
      link.from = distance - low;
      for (int bit = low / 2; bit >= 1; bit /= 2) hand_to(distance + bit);
      break;
    }
    default:
      hand_to(distance + 1);
  }
  if (distance == 0) link.from = -1;
  return link;
}

// Receives one message and forwards it. The buffer must not change until finish().
class Relay {
 public:
  void start(MPI_Comm comm, int root, const RouteLink& link, void* data, int count, MPI_Datatype type, int tag) {
    comm_ = comm, data_ = data, count_ = count, type_ = type, tag_ = tag, receiving_ = link.from >= 0;
    int ranks;
    MPI_Comm_size(comm, &ranks);
    to_.clear();
    for (const int distance : link.to) to_.push_back((root + distance) % ranks);
    sent_.assign(to_.size(), MPI_REQUEST_NULL);
    if (receiving_)
      MPI_Irecv(data, count, type, (root + link.from) % ranks, tag, comm, &received_);
    else
      hand_on();
  }
  // Forwards the message if it has arrived.
  void advance() {
    if (!receiving_) return;
    int come;
    MPI_Test(&received_, &come, MPI_STATUS_IGNORE);
    if (come) came();
  }
  // Request of the pending receive; MPI_REQUEST_NULL if there is none.
  MPI_Request awaited() const { return receiving_ ? received_ : MPI_REQUEST_NULL; }
  void came() { receiving_ = false, hand_on(); }
  void finish() { MPI_Waitall(static_cast<int>(sent_.size()), sent_.data(), MPI_STATUSES_IGNORE); }

 private:
  void hand_on() {
    for (std::size_t i = 0; i < to_.size(); ++i) MPI_Isend(data_, count_, type_, to_[i], tag_, comm_, &sent_[i]);
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  void* data_ = nullptr;
  int count_ = 0, tag_ = 0;
  MPI_Datatype type_ = MPI_BYTE;
  bool receiving_ = false;
  std::vector<int> to_;
  MPI_Request received_ = MPI_REQUEST_NULL;
  std::vector<MPI_Request> sent_;
};

// Broadcast of one panel and its pivots from `root` to all ranks of a grid row. Pivots are a message of their own,
// because they determine what is sent next.
class Broadcast {
 public:
  Broadcast(MPI_Comm grid_row, Route route) : comm_(grid_row), route_(route) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &ranks_);
  }

  void start(int root, std::byte* data, std::size_t bytes, std::int64_t* pivots, std::size_t number) {
    if (ranks_ == 1) return;
    const int distance = (rank_ - root + ranks_) % ranks_;
    pivots_.start(comm_, root, link_of(Route::tree, distance, ranks_), pivots, static_cast<int>(number), MPI_INT64_T,
                  pivots_tag);
    if (route_ == Route::library) {
      MPI_Ibcast(data, static_cast<int>(bytes), MPI_BYTE, root, comm_, &request_);
    } else if (route_ == Route::long_) {
      start_pieces(root, distance, data, bytes);
    } else {
      relays_.resize(1);
      relays_[0].start(comm_, root, link_of(route_, distance, ranks_), data, static_cast<int>(bytes), MPI_BYTE,
                       panel_tag);
    }
  }
  // Forwards messages that have arrived; to be called repeatedly between start() and arrive().
  void advance() {
    if (ranks_ == 1) return;
    pivots_.advance();
    for (Relay& relay : relays_) relay.advance();
    int done;
    if (request_ != MPI_REQUEST_NULL) MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
  }
  // Waits until the panel has arrived.
  void arrive() {
    if (ranks_ == 1) return;
    // Pieces may arrive in any order, and each must be forwarded at once.
    std::vector<MPI_Request> awaited(1 + relays_.size());
    for (;;) {
      awaited[0] = pivots_.awaited();
      for (std::size_t i = 0; i < relays_.size(); ++i) awaited[1 + i] = relays_[i].awaited();
      int come;
      MPI_Waitany(static_cast<int>(awaited.size()), awaited.data(), &come, MPI_STATUS_IGNORE);
      if (come == MPI_UNDEFINED) break;
      (come == 0 ? pivots_ : relays_[static_cast<std::size_t>(come - 1)]).came();
    }
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
  }
  // Waits until the buffer may be reused.
  void finish() {
    if (ranks_ == 1) return;
    arrive();
    pivots_.finish();
    for (Relay& relay : relays_) relay.finish();
  }

 private:
  static constexpr int pivots_tag = 1, panel_tag = 2;

  // Sends each rank one piece; then the pieces circulate in a ring: a scatter and an allgather.
  void start_pieces(int root, int distance, std::byte* data, std::size_t bytes) {
    relays_.resize(static_cast<std::size_t>(ranks_));
    for (int piece = 0; piece < ranks_; ++piece) {
      RouteLink link;
      const bool owner = distance == piece;
      const int next = distance + 1;
      if (distance == 0) {
        if (piece > 0) link.to.push_back(piece);
        if (piece != 1) link.to.push_back(1);
      } else {
        link.from = owner ? 0 : distance - 1;
        if (next < ranks_ && next != piece) link.to.push_back(next);
      }
      const auto begin_of = [&](int number) {
        return bytes / sizeof(double) * static_cast<std::size_t>(number) / static_cast<std::size_t>(ranks_) *
               sizeof(double);
      };
      relays_[static_cast<std::size_t>(piece)].start(comm_, root, link, data + begin_of(piece),
                                                     static_cast<int>(begin_of(piece + 1) - begin_of(piece)), MPI_BYTE,
                                                     panel_tag + piece);
    }
  }

  MPI_Comm comm_;
  Route route_;
  int rank_, ranks_;
  Relay pivots_;
  std::vector<Relay> relays_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace kiviat
