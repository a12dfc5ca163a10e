// Recording of one MPI call. The wrappers (prof/c_calls.cpp, prof/fortran_calls.cpp) pass all parameters of a call to
// before() and after(), which dispatch by their types to prepare() and take(). Calls with equal parameter lists share
// an overload and are told apart by call_. If a call fails, failed() replaces after().
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <tuple>
#include <type_traits>
#include <vector>

#include "platform/clock.hpp"
#include "trace/recorder.hpp"
#include "trace/values.hpp"

namespace kiviat::prof {

enum class Kind {
  in,
  out,
  count,
  counts,
  displacements,
  type,
  types,
  number,
  numbers,
  comm,
  new_comm,
  win,
  new_win,
  op,
  info,
  group,
  request,
  message,
  status,
  flag,
  address,
  addresses,
  extent,
  unit,
  file,
  new_file,
  offset,
  text,
  texts,
  texts_of_each,
  infos,
  handle,
  total,
  session,
  new_session,
  new_group,
  errhandler,
  partitions
};

#define KIVIAT_VALUE_OF(kind, name) values::kind(name)
#define KIVIAT_BEFORE(before_, ...) e.before(KIVIAT_EACH(KIVIAT_VALUE_OF, __VA_ARGS__))
#define KIVIAT_AFTER(after_, ...) e.after(KIVIAT_EACH(KIVIAT_VALUE_OF, __VA_ARGS__))
#define KIVIAT_FAILED(error, ...) e.failed(error, KIVIAT_EACH(KIVIAT_VALUE_OF, __VA_ARGS__))
#define KIVIAT_PASSED(kind, name) e.passed<Kind::kind>(name)

// True if a call waits for other ranks, and has a non-blocking form.
bool blocks(Call call);

class Event {
 public:
  explicit Event(Call call);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();
  // Called before `writer` writes an event while the MPI executes this call, perhaps for another thread.
  void split(const Thread& writer);
  void over() {
    if (recorder.stamps) left_s_ = clock::now();
  }

  // Returns the argument to pass to the MPI. Status arguments may be replaced (status_for()).
  template <Kind kind, class Value>
  auto passed(Value value) {
    if constexpr (kind == Kind::status)
      return static_cast<Value>(status_for(value));
    else
      return value;
  }

  template <class... Values>
  void before(Values... values) {
    if constexpr (requires { this->prepare(values...); })
      if (mine_) prepare(values...);
    if constexpr (requires { this->begin(values...); })
      if (recorder.threaded && blocks(call_)) remember(values...);
    lock_.unlock();
  }
  template <class... Values>
  void after(Values... values) {
    lock_.lock();
    if (!mine_) return;
    recorder.thread = thread_;
    if (ends_apart()) return;
    if constexpr (requires { this->take(values...); })
      take(values...);
    else
      other(values...);
  }
  // Ends a call that failed: it is not recorded, because its results mean nothing.
  template <class... Values>
  void failed(int error, Values... values) {
    lock_.lock();
    if (!mine_) return;
    recorder.thread = thread_;
    const auto release = [&](const auto& value) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, Requests>) release_ended(value);
    };
    (release(values), ...);
    const bool begun = recorder.written || (split_ && ends_apart());  // an event of it is in the stream
    if ((begun || !refuses_arguments(error)) && !(std::is_same_v<Values, File> || ...)) recorder.failed(call_);
  }

 private:
  using Buffer = values::Buffer;
  using Count = values::Count;
  using Counts = values::Counts;
  using Number = values::Number;
  using Extent = values::Extent;
  using Type = values::Type;
  using Types = values::Types;
  using Comm = values::Comm;
  using NewComm = values::NewComm;
  using Win = values::Win;
  using NewWin = values::NewWin;
  using Op = values::Op;
  using Group = values::Group;
  using Requests = values::Requests;
  using Message = values::Message;
  using Flag = values::Flag;
  using Status = values::Status;
  using File = values::File;
  using Ignored = values::Ignored;

  // --- point to point: point_to_point.cpp -------------------------------------------------------------
  void prepare(Buffer, Count, Type, Number source, Number tag, Comm, Status);
  void prepare(Buffer, Count, Type, Message, Status);
  void prepare(Buffer, Count, Type, Message, Requests);
  void prepare(Buffer, Count, Type, Number, Number, Buffer, Count, Type, Number source, Number tag, Comm, Status);
  void prepare(Buffer, Count, Type, Number, Number, Number source, Number tag, Comm, Status);
  void prepare(Number source, Number tag, Comm, Status);
  void prepare(Number source, Number tag, Comm, Flag, Status);
  void prepare(Number source, Number tag, Comm, Message, Status);
  void prepare(Number source, Number tag, Comm, Flag, Message, Status);
  void take(Buffer, Count, Type, Number to, Number tag, Comm);
  void take(Buffer, Count, Type, Number peer, Number tag, Comm, Requests);
  void take(Buffer, Count, Type, Number source, Number tag, Comm, Status);
  void take(Buffer, Count, Type, Message, Status);
  void take(Buffer, Count, Type, Message, Requests);
  void take(Buffer, Count, Type, Number to, Number tag, Buffer, Count, Type, Number source, Number tag_back, Comm,
            Status);
  void take(Buffer, Count, Type, Number to, Number tag, Number source, Number tag_back, Comm, Status);
  void take(Number source, Number tag, Comm, Status);
  void take(Number source, Number tag, Comm, Flag, Status);
  void take(Number source, Number tag, Comm, Message, Status);
  void take(Number source, Number tag, Comm, Flag, Message, Status);

  // --- completion: completion.cpp -----------------------------------------------------------------------
  void prepare(Requests);
  void prepare(Requests, Status);
  void prepare(Requests, Flag, Status);
  void prepare(Number count, Requests, Status);
  void prepare(Number count, Requests, Flag, Status);
  void prepare(Number count, Requests, Flag, Flag, Status);
  void take(Requests);
  void take(Requests, Status);
  void take(Requests, Flag, Status);
  void take(Number count, Requests);
  void take(Number count, Requests, Status);
  void take(Number count, Requests, Flag, Status);
  void take(Number count, Requests, Flag, Flag, Status);
  // MPI_Request_get_status, which does not complete the request.
  void take(Ignored, Flag done, Status) {
    if (!done.is_true()) recorder.polled();
  }
  // MPI_Buffer_detach: a replay needs no buffer.
  void take(Buffer, Flag) {}

  // --- collectives: collectives.cpp ---------------------------------------------------------------------
  void take(Comm, Requests = {});
  void take(Buffer, Count, Type, Number root, Comm, Requests = {});
  void take(Buffer, Buffer, Count, Type, Op, Number root, Comm, Requests = {});
  void take(Buffer, Count, Type, Buffer, Count, Type, Number root, Comm, Requests = {});
  void take(Buffer, Count, Type, Buffer, Counts, Ignored, Type, Number root, Comm, Requests = {});
  void take(Buffer, Counts, Ignored, Type, Buffer, Count, Type, Number root, Comm, Requests = {});
  void take(Buffer, Count, Type, Buffer, Count, Type, Comm, Requests = {});
  void take(Buffer, Count, Type, Buffer, Counts, Ignored, Type, Comm, Requests = {});
  void take(Buffer, Counts, Ignored, Type, Buffer, Counts, Ignored, Type, Comm, Requests = {});
  void take(Buffer, Counts, Ignored, Types, Buffer, Counts, Ignored, Types, Comm, Requests = {});
  void take(Buffer, Buffer, Count, Type, Op, Comm, Requests = {});
  void take(Buffer, Buffer, Counts, Type, Op, Comm, Requests = {});

  // --- communicators and windows: communicators.cpp, windows.cpp ------------------------------------------
  void prepare(NewComm);
  void take(NewComm) {}
  void take(Comm, Number colour, Number key, NewComm made);
  void prepare(NewWin);
  void take(NewWin) {}
  void take(Buffer, Extent size, Extent unit, Ignored, Comm, NewWin made);
  void take(Extent size, Extent unit, Ignored, Comm, Buffer, NewWin made);
  void take(Ignored, Comm, NewWin made);
  void take(Win);
  void take(Win, Flag);
  void take(Number, Win);
  void take(Group, Number, Win);
  void take(Number kind, Number rank, Number, Win);
  void take(Buffer, Count, Type, Number target, Ignored, Count, Type, Win, Requests = {});
  void take(Buffer, Count, Type, Number target, Ignored, Count, Type, Op, Win, Requests = {});
  void take(Buffer, Count, Type, Buffer, Count, Type, Number target, Ignored, Count, Type, Op, Win, Requests = {});
  void take(Buffer, Buffer, Type, Number target, Ignored, Op, Win);
  void take(Buffer, Buffer, Buffer, Type, Number target, Ignored, Win);

  // File I/O is not recorded, since replays simulate communication only.
  void take(Comm, Ignored, Number, Ignored, File) {}
  template <class... Values>
  void other(File, Values...) {}

  // All other calls that create a communicator from their first parameter. Calls without an overload cannot be
  // replayed.
  template <class... Values>
  void other(Comm parent, Values... values) {
    const NewComm* made = nullptr;
    const Requests* requests = nullptr;
    const auto look = [&](const auto& value) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, NewComm>) made = &value;
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, Requests>) requests = &value;
    };
    (look(values), ...);
    if (made)
      derive(parent, *made, requests);
    else
      recorder.unsupported(call_);
  }
  template <class... Values>
  void other(Values...) {
    recorder.unsupported(call_);
  }
  void derive(Comm parent, NewComm made, const Requests* requests);

  // --- helpers of several overloads --------------------------------------------------------------------------------
  // Begins the event of a call on a communicator or window; returns false if its creation was not recorded.
  bool on(Operation operation, Comm comm);
  bool on(Operation operation, Win win);
  void part(Count count, Type type);
  void array(Counts counts, int ranks);
  void ranks(const std::vector<int>& ranks);
  // Writes the world ranks of `of` as members of the new communicator `made`; only if time stamps are recorded.
  void members(Word made, MPI_Comm of);
  void maybe(Requests requests);
  void message(Operation operation, const Asked& asked, std::int64_t sent_bytes);
  void peer(Asked& asked, int place) const;
  void want_who(Number source, Number tag);
  void collect(Requests requests, int count);
  void completed(const int* places, int count, bool own_order);
  void cancelled(Word number, int place);
  std::vector<int> replaced(Requests requests) const;
  std::vector<int> taken(Requests requests, std::vector<int> told) const;
  // Releases the requests of a failed completion call that have ended nevertheless.
  void release_ended(Requests requests);
  // True if a failed call did nothing, because the MPI found its arguments wrong.
  static bool refuses_arguments(int error);
  void* status_for(void* given);
  void start(Word number);
  void match(Message message, const Asked& asked);
  void matched(Message message);
  void tell_matched();
  void leave();
  void remote(Operation operation, Win win, Number target, Count count, Type type, Requests requests);
  // Bytes sent to or received from each neighbour: equal (`same`), or given by counts of one type or of several types.
  struct Parts {
    std::int64_t same = 0;
    const Counts* counts = nullptr;
    std::int64_t size = 0;
    const Types* types = nullptr;
    std::int64_t operator[](int at) const {
      return !counts ? same : (*counts)[at] <= 0 ? 0 : (*counts)[at] * (types ? (*types)[at].size() : size);
    }
  };
  void exchange(Comm comm, const Parts& out, const Parts& in, Requests requests);
  // Writes messages to some ranks and from some ranks, all at once, as one event.
  void lists(Comm comm, const std::vector<int>& to, const Parts& out, const std::vector<int>& from, const Parts& in,
             Requests requests);

  // --- communicators between two groups: intercommunicators.cpp ----------------------------------------------------
  // Returns null unless the communicator is known and between two groups.
  static const KnownComm* between_groups(Comm comm);
  // Records a new communicator, if it is between two groups; returns whether it is.
  bool pair(MPI_Comm made);
  // Records a communicator of both groups.
  void merge(MPI_Comm made);
  void barrier_between(Comm comm, Requests requests);
  void bcast_between(Comm comm, Count count, Type type, int root, Requests requests);
  void reduce_between(Comm comm, Count count, Type type, Op op, int root, Requests requests);
  void allreduce_between(Comm comm, Count count, Type type, Op op, Requests requests);
  void allgather_between(Comm comm, std::int64_t out, std::int64_t in, Requests requests);
  void reduce_scatter_between(Comm comm, const Counts* counts, Count each, Type type, Op op, Requests requests);
  void with_root(Comm comm, int root, bool to_root, const Parts& each, std::int64_t own, Requests requests);
  void with_all(Comm comm, const Parts& out, const Parts& in, Requests requests);
  // Events within the own group, whose root is its first rank.
  void within(Operation operation, const KnownComm& known);
  void within(Operation operation, const KnownComm& known, Word count, Word size);
  void reduce_within(const KnownComm& known, Word count, Word size, Op op);
  // Messages between a first rank and a rank of the other group.
  void to_leader(const KnownComm& known, int leader, Word bytes);
  void from_leader(const KnownComm& known, int leader, Word bytes);
  void leaders_swap(const KnownComm& known, Word out, Word in);

  void enter(double now_s);
  void leave_call();

  // --- calls of several threads at once: overlap.cpp ----------------------------------------------------------------
  // Write a blocking call as a non-blocking one.
  void begin(Buffer, Count, Type, Number to, Number tag, Comm);
  void begin(Buffer, Count, Type, Number source, Number tag, Comm, Status);
  void begin(Buffer, Count, Type, Message, Status);
  void begin(Buffer, Count, Type, Number to, Number tag, Buffer, Count, Type, Number source, Number tag_back, Comm,
             Status);
  void begin(Buffer, Count, Type, Number to, Number tag, Number source, Number tag_back, Comm, Status);
  template <class... Values>
    requires(std::is_same_v<std::tuple_element_t<sizeof...(Values) - 1, std::tuple<Values...>>, Comm>)
  void begin(Values... values) {
    const Comm comm = std::get<sizeof...(Values) - 1>(std::tuple(values...));
    // The other ranks may record the same collective as one call, in another way.
    if (between_groups(comm)) refuse_crossed();
    ++recorder.header->apart;
    take(values...);
  }
  // Keeps the parameters until the call ends.
  template <class... Values>
  void remember(Values... values) {
    using All = std::tuple<Values...>;
    static_assert(sizeof(All) <= sizeof parameters_ && std::is_trivially_destructible_v<All>);
    new (parameters_) All(values...);
    begin_ = [](Event& e) {
      const auto begins = [&e](auto... all) { e.begin(all...); };
      std::apply(begins, *std::launder(reinterpret_cast<All*>(e.parameters_)));
    };
  }
  void begin_apart();
  // Ends a call that is recorded as two events; returns false for another one.
  bool ends_apart();
  // Adds a request of such a call.
  Word add_apart(const Asked& asked);
  void refuse_crossed();
  // Writes source and tag of a wildcard receive where it began.
  void resolve(const Request& request, int place);
  static Asked asked_for(Operation operation, Comm comm, Count count, Type type, int peer, int tag);

  void (*begin_)(Event&) = nullptr;
  bool split_ = false;
  std::vector<Word> apart_;
  alignas(std::max_align_t) std::byte parameters_[256];

  Call call_;
  Thread* thread_;
  std::unique_lock<std::mutex> lock_;
  bool mine_;          // whether the call is recorded
  bool want_ = false;  // whether the recorder needs the status
  int statuses_ = 1;   // number of statuses of the call
  const MPI_Status* status_ = nullptr;
  Matched matched_;
  double entered_s_ = 0, left_s_ = 0;
};

// Returns the ranks of `group` as ranks in `whole`. Frees `whole`.
std::vector<int> members_within(MPI_Group group, MPI_Group whole);

}  // namespace kiviat::prof
