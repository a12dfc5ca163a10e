// State of the recorder in this process: its stream, and the numbers that identify communicators, windows and requests
// in it.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "prof/call.hpp"
#include "prof/handles.hpp"
#include "trace/stream.hpp"

namespace kiviat::prof {

using trace::Operation;
using trace::Word;

inline constexpr Word none = ~Word{0};

// Allocator of small numbers: take() returns the lowest free one.
class Numbers {
 public:
  Word take();
  void give_back(Word number);

 private:
  std::vector<bool> taken_;
  std::size_t lowest_ = 0;  // no lower number is free
};

// `size` and `rank` are those in the own group. Between two groups, `remote` is the size of the other one, and `within`
// the number of a communicator of the own group.
struct KnownComm {
  Word id;
  int size, rank;
  int remote = 0;
  Word within = 0;
};

// Parameters of a point-to-point operation, kept with its request, because persistent requests need them at every
// start.
struct Asked {
  Operation operation = Operation::end;
  Word comm = 0, count = 0, size = 0;
  int peer = 0, tag = 0;  // as passed to the MPI
};

// A message matched by MPI_Mprobe or MPI_Improbe, to be received by MPI_Mrecv or MPI_Imrecv.
struct Matched {
  Asked asked = {.peer = MPI_PROC_NULL};
  Word number = none;
};

struct Request {
  std::uint64_t key = 0;
  bool active = false, persistent = false;
  bool picked = false;  // already assigned to a handle of the current call
  Asked asked = {};
  // A receive with wildcards has positions in the stream at which source and tag are patched on completion.
  bool wild = false;
  Word peer_at = 0, tag_at = 0;
  bool duplicates = false;  // MPI_Comm_idup
  // A pending cancellation: its event, at `cancel_at`, is withdrawn if the message turns out to be matched already.
  bool cancelling = false;
  Word cancel_at = 0;
};

class Event;

// State of a thread that calls MPI. `number`: in the order of first calls.
struct Thread {
  Word number = 0;
  unsigned long pthread = 0;
  bool fresh = false;  // before its first call ends
  // Wall-clock and processor time at the end of the last call, and computation not yet written to an event.
  double left_s = 0;
  std::int64_t left_ns = 0;
  Word computed_ns = 0;
  bool polling = false;
  // Number of times that the thread had blocked by the end of its last call; `waited`: it has blocked since, perhaps to
  // wait for another thread's call.
  long blocked = 0;
  bool waited = false;
  std::vector<Word> waiting;         // requests of the current call, in the order of its handles; `none` if inactive
  std::vector<MPI_Status> statuses;  // used when the program ignores statuses but the recorder needs them
};

struct Recorder {
  std::atomic<bool> recording{false};
  int rank = 0, ranks = 0;
  trace::Stream stream;
  trace::Header* header = nullptr;
  // Held while a call is recorded, not while the MPI executes it. Protects everything below and the stream.
  std::mutex mutex;
  // If `threaded`, the program may call MPI from several threads, and all are recorded.
  bool threaded = false, at_once = false;  // at_once: MPI_THREAD_MULTIPLE
  std::vector<std::unique_ptr<Thread>> threads;
  Thread* thread = nullptr;    // whose event is written
  Word last_thread = 0;        // whose event was written last
  std::vector<Event*> inside;  // calls that the MPI executes, in the order in which they began
  bool splitting = false;      // while split_others() works
  // Since the last event: computation of the process while no thread was in a call, counted from `free_s` and `free_ns`
  // on, when the last call ended. It precedes an event of another thread that may have waited for it.
  Word between_ns = 0;
  double free_s = 0;
  std::int64_t free_ns = -1;  // -1 while there is one thread
  bool written = false;
  // If `stamps`, entry and exit times of calls, relative to `begun_s`, are recorded instead of computation times.
  bool stamps = false;
  double begun_s = 0;
  std::int64_t stamped_ns = 0;
  // The first rank of each distinct clock, starting with rank 0. These ranks compare clocks on a communicator of their
  // own, so that unreceived messages of the program cannot match.
  std::vector<int> first_of_clock;
  MPI_Comm comm_of_clocks;
  Operation event = Operation::end;  // the event written last

  Numbers comm_ids, win_ids, request_ids, message_ids;
  std::unordered_map<std::uint64_t, KnownComm> comms;
  std::unordered_map<std::uint64_t, Word> wins;
  // Requests of each handle that are not picked. MPIs share a handle among thousands of sends that completed at once,
  // so none of the functions below may look at all of them.
  std::unordered_map<std::uint64_t, std::vector<Word>> requests_of;
  std::vector<Request> requests;
  int duplicating = 0;  // number of active requests of MPI_Comm_idup
  std::unordered_map<std::uint64_t, Matched> messages;

  MPI_Comm no_comm;

  // Writes computation time and operation, after a change of threads; the parameters follow.
  void begin_event(Operation operation);
  // Writes the beginnings of the calls of other threads that have not ended.
  void split_others();
  // Writes the entry and exit times of `call`, after its events, if it has any.
  void stamp(Call call, double entered_s, double left_s);
  // Adds to the bytes sent by the current kind of event.
  void add_bytes(Word bytes) { header->counted[static_cast<int>(event)].bytes += bytes; }
  // Notes an unsuccessful test or probe.
  void polled() {
    thread->polling = true;
    ++header->polls;
  }
  void unsupported(Call call);
  void failed(Call call);

  // Returns null, and counts this in header->unseen, if the creation of `comm` was not recorded.
  const KnownComm* comm(MPI_Comm comm);
  // Each add_… function registers a new handle and returns its number.
  Word add_comm(MPI_Comm comm);
  Word add_comm(MPI_Comm comm, int size, int rank);
  void remove_comm(MPI_Comm comm);
  Word add_win(MPI_Win win);
  void remove_win(MPI_Win win);
  Word add_request(std::uint64_t key, const Asked& asked);
  Word add_active_request(std::uint64_t key);
  void release(Word request);
  // Returns the latest request of the handle, or `none`.
  Word request_of(std::uint64_t key) const;
  // Assigns an active request of the handle to the current call, and returns it, or `none`; unpick() gives it back.
  Word pick(std::uint64_t key);
  void unpick(Word request);

 private:
  void write(Word computed_ns, Operation operation);
};

// Until begin() its memory is zero: nothing is recorded.
extern Recorder& recorder;
// Non-zero while this thread is inside a recorded call. MPI libraries call their own functions (Fortran bindings call
// C's), which must not be recorded again.
extern constinit thread_local int nested_here __attribute__((tls_model("initial-exec")));
inline int& nested() { return nested_here; }

inline bool counts() { return recorder.recording.load(std::memory_order_relaxed) && nested() == 0; }

// begin() is called after MPI_Init, end() before MPI_Finalize. Collective over MPI_COMM_WORLD.
void begin();
void end();
inline void note_session() {}  // programs without MPI_Init are not recorded
// Handles MPI_Pcontrol. A trace has no phases, but wait-state analysis ignores calls while profiling is switched off
// (level 0).
void control(int level);

}  // namespace kiviat::prof
