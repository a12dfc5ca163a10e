// Profile of one MPI call: its duration, the distance of its messages, the bytes it sends.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "platform/tsc.hpp"
#include "prof/handles.hpp"
#include "prof/profiler.hpp"
#include "prof/real.hpp"

namespace kiviat::prof {

// Expands the descriptions `before` and `after` of calls.hpp in the wrappers (c_calls.cpp, fortran_calls.cpp).
#define KIVIAT_BEFORE(before, ...) before
#define KIVIAT_AFTER(after, ...) after
#define KIVIAT_FAILED(...)  // of a call that fails, only time counts: its arguments may mean nothing
#define KIVIAT_PASSED(kind, name) name

class Event {
 public:
  explicit Event(Call call) : slot_(profiler().slot(call)) {
    nested() = 1;
    Header& header = profiler().state->header;
    begin_ = clock::ticks(profiler().counter);
    header.inside = 1 + static_cast<Word>(call), header.inside_since = begin_;
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void over() { end_ = clock::ticks(profiler().counter); }
  ~Event() {
    nested() = 0;
    if (end_ == never) return;  // the simulated rank was killed inside the call
    const int distance = distance_ < 0 ? unknown : distance_;
    const Word took = end_ - begin_;
    profiler().add(slot_.calls[distance], 1);
    profiler().add(slot_.ticks[distance], took);
    if (took > slot_.longest) slot_.longest = took;
    if (profiler().concurrent) profiler().see_thread(begin_, end_);
    profiler().state->header.inside = 0, profiler().state->header.latest = end_;
    if (end_ > profiler().refresh_at) profiler().refresh(end_);
  }

  template <class Type>
  std::int64_t bytes(std::int64_t count, Type type) const {
    MPI_Count size = 0;
    if (count > 0) KIVIAT_PMPI(Type_size_x)(type_in_c(type), &size);
    return size > 0 ? count * size : 0;
  }

  // --- point to point ---------------------------------------------------------------------------------
  template <class Comm>
  void send(Comm comm, int to, std::int64_t bytes) {
    if (to == MPI_PROC_NULL) return reaches(itself);
    const int target = members(comm)->of_world(to);
    give(sent, target, profiler().distance(target), bytes);
    one_of(bytes);
  }
  template <class Comm>
  void receive(Comm comm, int from) {
    if (from >= 0)
      reaches(profiler().distance(members(comm)->of_world(from)));
    else if (from == MPI_PROC_NULL)
      reaches(itself);
  }
  template <class Comm>
  void receive(Comm comm, int from, const MPI_Status* status) {
    receive(comm, from == MPI_ANY_SOURCE && status != MPI_STATUS_IGNORE ? status->MPI_SOURCE : from);
  }
  template <class Comm>
  void receive(Comm comm, int from, FortranStatus status) {
    // Fortran statuses have the same layout.
    receive(comm, from, is_ignored(status.at) ? MPI_STATUS_IGNORE : static_cast<const MPI_Status*>(status.at));
  }
  // A probe that returns at once sets its status only if it has found a message.
  template <class Comm, class Flag, class Status>
  void receive(Comm comm, int from, Flag found, Status status) {
    if (is_true(found))
      receive(comm, from, status);
    else
      receive(comm, from);
  }

  // A matched message is received later, by a call that does not name its source.
  template <class Message>
  void match(Message message) {
    profiler().requests.remember(message_key(message), distance_ < 0 ? unknown : distance_);
  }
  template <class Flag, class Message>
  void match(Flag found, Message message) {
    if (is_true(found)) match(message);
  }
  template <class Message>
  void matched(Message message) {
    reaches(profiler().requests.distance(message_key(message)));
  }

  template <class Requested>
  void remember(Requested requests) {
    profiler().requests.remember(request_key(requests, 0), distance_ < 0 ? unknown : distance_);
  }
  template <class Requested>
  void recall(Requested requests, int count) {
    for (int at = 0; at < count; ++at)
      distance_ = std::max(distance_, profiler().requests.distance(request_key(requests, at)));
  }
  template <class Comm, class Requested>
  void prepare(Comm comm, int to, std::int64_t bytes, Requested requests) {
    const int target = to == MPI_PROC_NULL ? -1 : members(comm)->of_world(to);
    const int distance = to == MPI_PROC_NULL ? itself : profiler().distance(target);
    prepared({request_key(requests, 0), bytes, target, distance});
  }
  template <class Comm, class Requested>
  void prepare_receive(Comm comm, int from, Requested requests) {
    receive(comm, from);
    prepared({request_key(requests, 0), 0, -1, distance_ < 0 ? int{unknown} : distance_});
  }
  template <class Requested>
  void start(Requested requests, int count) {
    for (int at = 0; at < count; ++at) {
      PersistentRequests::Entry entry;
      if (!profiler().persistent.find(request_key(requests, at), entry)) {
        ++profiler().state->header.unseen_sends;
      } else if (entry.increments) {
        add_all(*entry.increments);
        reaches(entry.distance);
      } else if (entry.target < 0) {
        reaches(entry.distance);
      } else {
        give(sent, entry.target, entry.distance, entry.bytes);
        one_of(entry.bytes);
      }
    }
  }
  // The description of a persistent collective between these two calls is not counted now, but at each start.
  void collect() { increments_ = new Increments; }
  template <class Requested>
  void prepare_collective(Requested requests) {
    prepared({request_key(requests, 0), 0, -1, distance_ < 0 ? int{unknown} : distance_, increments_});
    increments_ = nullptr;
  }
  // The request of a call that takes its value (MPI_Pready).
  void recall_one(MPI_Request request) { recall(&request, 1); }
  void recall_one(FortranRequests request) { recall(request, 1); }
  template <class Requested>
  void forget(Requested requests) {
    profiler().persistent.forget(request_key(requests, 0));
  }

  // --- collectives --------------------------------------------------------------------------------------
  template <class Comm>
  void meet(Comm comm) {
    reaches(members(comm)->farthest);
  }
  // MPI may make no communicator, for a process outside the group.
  void meet_if_made(MPI_Comm made) {
    if (made == no_comm())
      local();
    else
      meet(made);
  }
  // At the root, counts the processes that it started.
  void spawn(MPI_Comm comm, int root, const MPI_Comm* made) {
    const Members& all = *members(comm);
    reaches(all.farthest);
    int started = 0;
    if (all.rank != root || *made == no_comm()) return;
    KIVIAT_PMPI(Comm_remote_size)(*made, &started);
    add(profiler().state->header.spawned, static_cast<Word>(started));
  }
  void local() { reaches(itself); }
  template <class Comm>
  void root_to_each(Comm comm, int root, std::int64_t bytes) {
    const Members& all = *members(comm);
    one_of(bytes);
    reaches(all.farthest);
    if (all.rank == root && root >= 0) to_each(all, bytes);
  }
  template <class Comm, class Count, class Type>
  void root_to(Comm comm, int root, const Count* counts, Type type) {
    const Members& all = *members(comm);
    reaches(all.farthest);
    if (all.rank == root && root >= 0) to_others(comm, counts, type);
  }
  template <class Comm>
  void each_to_root(Comm comm, int root, std::int64_t bytes) {
    const Members& all = *members(comm);
    one_of(bytes);
    reaches(all.farthest);
    if (all.rank >= 0 && root >= 0 && all.rank != root) give_member(all, root, bytes);
  }
  template <class Comm>
  void each_to_each(Comm comm, std::int64_t bytes) {
    const Members& all = *members(comm);
    one_of(bytes);
    reaches(all.farthest);
    if (all.rank >= 0) to_each(all, bytes);
  }
  template <class Comm, class Count, class Type>
  void mine_to_each(Comm comm, const Count* counts, Type type) {
    each_to_each(comm, own_part(comm, counts, type));
  }
  // Bytes of this rank's part, from the arguments that are significant on it: others may have any value, even one that
  // is no type.
  template <class Type>
  std::int64_t rooted(int root, std::int64_t count, Type type) const {
    return root == MPI_PROC_NULL ? 0 : bytes(count, type);
  }
  template <class Comm, class Type>
  std::int64_t scattered(Comm comm, int root, std::int64_t sent, Type sent_type, std::int64_t received,
                         Type received_type) const {
    if (root == MPI_PROC_NULL) return 0;
    const bool sends = root == MPI_ROOT || members(comm)->rank == root;
    return sends ? bytes(sent, sent_type) : bytes(received, received_type);
  }
  template <class Buffer, class Type>
  std::int64_t gathered(int root, Buffer buffer, std::int64_t sent, Type sent_type, std::int64_t received,
                        Type received_type) const {
    if (root == MPI_PROC_NULL) return 0;
    return root == MPI_ROOT || in_place(buffer) ? bytes(received, received_type) : bytes(sent, sent_type);
  }
  template <class Comm, class Buffer, class Count, class Type>
  std::int64_t gathered(Comm comm, int root, Buffer buffer, std::int64_t sent, Type sent_type, const Count* received,
                        Type received_type) const {
    if (root == MPI_PROC_NULL || root == MPI_ROOT) return 0;
    return in_place(buffer) ? own_part(comm, received, received_type) : bytes(sent, sent_type);
  }
  template <class Comm, class Count, class Type>
  void to_others(Comm comm, const Count* counts, Type types) {
    const Members& all = *members(comm);
    reaches(all.farthest);
    std::int64_t whole = 0;
    if (all.rank < 0) return;
    for (int other = 0; other < all.size; ++other) {
      const std::int64_t part = counts[other] > 0 ? bytes(counts[other], type_at(types, other)) : 0;
      whole += part;
      if (other != all.rank && part > 0) give_member(all, other, part);
    }
    one_of(whole);
  }
  template <class Comm>
  void reduce_for_all(Comm comm, std::int64_t bytes) {
    Members& all = *members(comm);
    one_of(bytes);
    reaches(all.farthest);
    if (all.rank < 0 || all.size < 2) return;
    // Differences of sums over calls, because the part of a short call is less than a byte.
    const std::int64_t before = all.reduced;
    all.reduced += bytes;
    const auto parts = [&](std::int64_t number) {
      return static_cast<Word>(2 * all.reduced * number / all.size - 2 * before * number / all.size);
    };
    for (int distance = 0; distance < distances; ++distance)
      if (all.others[distance]) add(slot_.bytes[distance], parts(all.others[distance]));
    add(slot_.messages, 2 * static_cast<Word>(all.size - 1));
    if (all.group) {
      add(all.group->messages, 2);
      add(all.group->reduced, static_cast<Word>(bytes));
    } else {
      each_row(all, 2, static_cast<std::int64_t>(parts(1)));
    }
  }
  template <class Comm>
  void to_next(Comm comm, std::int64_t bytes) {
    const Members& all = *members(comm);
    one_of(bytes);
    reaches(all.farthest);
    if (all.rank >= 0 && all.rank + 1 < all.size) give_member(all, all.rank + 1, bytes);
  }
  template <class Comm>
  void to_neighbours(Comm comm, std::int64_t bytes) {
    Members& all = neighbours(comm);
    one_of(bytes);
    reaches(all.farthest);
    for (int at = 0; at < all.degree; ++at) give_neighbour(all.neighbours[at], bytes);
  }
  template <class Comm, class Count, class Type>
  void to_neighbours(Comm comm, const Count* counts, Type types) {
    Members& all = neighbours(comm);
    reaches(all.farthest);
    std::int64_t whole = 0;
    for (int at = 0; at < all.degree; ++at) {
      const std::int64_t part = bytes(counts[at], type_at(types, at));
      if (all.neighbours[at] != Members::proc_null) whole += part;
      give_neighbour(all.neighbours[at], part);
    }
    one_of(whole);
  }
  template <class Buffer>
  bool in_place(Buffer buffer) const {
    return is_in_place(buffer);
  }

  // --- one-sided ----------------------------------------------------------------------------------------
  template <class Win>
  void put(Win win, int to, std::int64_t bytes) {
    if (to == MPI_PROC_NULL) return reaches(itself);
    const int target = window(win)->of_world(to);
    give(sent, target, profiler().distance(target), bytes);
    one_of(bytes);
  }
  // With MPI_NO_OP, an atomic operation only reads: nothing is sent, and the arguments of the origin mean nothing.
  template <class Win, class Op, class Type>
  void put(Win win, int to, Op op, std::int64_t count, Type type) {
    if (op_in_c(op) != no_op()) put(win, to, bytes(count, type));
  }
  // Bytes fetched from a target are counted by the origin, because the target does not take part.
  template <class Win>
  void get(Win win, int from, std::int64_t bytes) {
    if (from == MPI_PROC_NULL) return reaches(itself);
    const int source = window(win)->of_world(from);
    give(fetched, source, profiler().distance(source), bytes);
    one_of(bytes);
  }
  template <class Win>
  void reach(Win win, int rank) {
    reaches(rank < 0 ? int{itself} : profiler().distance(window(win)->of_world(rank)));
  }
  template <class Win>
  void synchronise(Win win) {
    reaches(window(win)->farthest);
  }

  // --- files: bytes count as traffic of the call, not as messages between ranks ----------------------------
  void file() { reaches(itself); }
  void file(std::int64_t bytes) {
    file();
    one_of(bytes);
    add(slot_.messages, 1);
    add(slot_.bytes[itself], static_cast<Word>(bytes));
  }

 private:
  template <class Comm>
  static Members* members(Comm comm) {
    const MPI_Comm here = in_c(comm);
    Members* known = profiler().communicators.find(key_of(here));
    return known ? known : learn(here);
  }
  template <class Win>
  static Members* window(Win win) {
    const MPI_Win here = window_in_c(win);
    Members* known = profiler().windows.find(key_of(here));
    return known ? known : learn_window(here);
  }
  template <class Comm>
  static Members& neighbours(Comm comm) {
    Members* all = members(comm);
    if (all->degree < 0) find_neighbours(*all, in_c(comm));
    return *all;
  }
  template <class Comm, class Count, class Type>
  std::int64_t own_part(Comm comm, const Count* counts, Type type) const {
    const int rank = members(comm)->rank;
    return rank < 0 ? 0 : bytes(counts[rank], type);
  }
  void reaches(int distance) { distance_ = std::max(distance_, distance); }
  // Adds one message or collective of `bytes` to the histogram of sizes.
  void one_of(std::int64_t bytes) {
    const int size = std::min(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes))), size_classes - 1);
    add(slot_.sizes[size], 1);
  }
  void give(Row row, int target, int distance, std::int64_t bytes) {
    reaches(distance);
    add(slot_.messages, 1);
    add(slot_.bytes[distance], static_cast<Word>(bytes));
    if (target < 0) return;
    Cell& cell = profiler().row[row][target];
    add(cell.messages, 1);
    add(cell.bytes, static_cast<Word>(bytes));
  }
  void give_member(const Members& all, int member, std::int64_t bytes) {
    const int target = all.of_world(member);
    give(collective, target, profiler().distance(target), bytes);
  }
  void give_neighbour(int target, std::int64_t bytes) {
    if (target == Members::proc_null) return reaches(itself);
    give(collective, target, profiler().distance(target), bytes);
  }
  void to_each(const Members& all, std::int64_t bytes) {
    if (all.size < 2) return;
    for (int distance = 0; distance < distances; ++distance)
      if (all.others[distance])
        add(slot_.bytes[distance], static_cast<Word>(bytes) * static_cast<Word>(all.others[distance]));
    add(slot_.messages, static_cast<Word>(all.size - 1));
    if (all.group) {
      add(all.group->messages, 1);
      add(all.group->bytes, static_cast<Word>(bytes));
    } else {
      each_row(all, 1, bytes);
    }
  }
  void each_row(const Members& all, Word messages, std::int64_t bytes) {
    for (int other = 0; other < all.size; ++other) {
      const int target = all.of_world(other);
      if (other == all.rank || target < 0) continue;
      Cell& cell = profiler().row[collective][target];
      add(cell.messages, messages);
      add(cell.bytes, static_cast<Word>(bytes));
    }
  }
  void add(Word& word, Word value) {
    if (!increments_) return profiler().add(word, value);
    const auto at = reinterpret_cast<std::uintptr_t>(&word), slot = reinterpret_cast<std::uintptr_t>(&slot_);
    if (at >= slot && at < slot + sizeof slot_)
      increments_->push_back({nullptr, (at - slot) / sizeof(Word), value});
    else
      increments_->push_back({&word, 0, value});
  }
  void add_all(const Increments& increments) {
    auto* const words = reinterpret_cast<Word*>(&slot_);
    for (const Increment& one : increments) add(one.word ? *one.word : words[one.of_slot], one.value);
  }
  void prepared(const PersistentRequests::Entry& entry) {
    reaches(entry.distance);
    profiler().requests.remember(entry.key, entry.distance);
    if (!profiler().persistent.add(entry)) ++profiler().state->header.lost_persistent;
  }

  Slot& slot_;
  static constexpr Word never = ~Word{0};
  Word begin_, end_ = never;
  int distance_ = -1;
  Increments* increments_ = nullptr;  // not null while a persistent collective is described
};

}  // namespace kiviat::prof
