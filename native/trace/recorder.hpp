// Recording of this process: its stream, and the small numbers of its communicators, windows and requests.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
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

// The lowest numbers that are free.
class Numbers {
 public:
  Word take();
  void give_back(Word number);

 private:
  std::vector<bool> taken_;
  std::size_t lowest_ = 0;  // none below is free
};

struct KnownComm {
  Word id;
  int size, rank;
};

// A message as it is asked for: of a request that is under way, or of one that can be started again and again.
struct Asked {
  Operation operation = Operation::end;
  Word comm = 0, count = 0, size = 0;
  int peer = 0, tag = 0;  // as the MPI has them
};

// A message that a probe has taken off the queue, to be received by this name.
struct Matched {
  Asked asked = {.peer = MPI_PROC_NULL};
  Word number = none;
};

struct Request {
  std::uint64_t key = 0;
  bool active = false, persistent = false;
  bool picked = false;  // by the call that is going on
  Asked asked = {};
  // Where the stream has the rank and the tag of a message from anybody, until it has come.
  bool wild = false;
  Word peer_at = 0, tag_at = 0;
  // Likewise its number where the program wants it cancelled, until it is known whether that came in time.
  bool cancelling = false;
  Word cancel_at = 0;
};

struct Recorder {
  std::atomic<bool> recording{false};
  int rank = 0, ranks = 0;
  trace::Stream stream;
  trace::Header* header = nullptr;
  // Of computation: the clocks at the end of the last call, and what no event has told yet.
  double left_s = 0;
  std::int64_t left_ns = 0;
  Word computed_ns = 0;
  bool polling = false, written = false;
  // Instead of computation: when calls began and ended, since `begun_s`.
  bool stamps = false;
  double begun_s = 0;
  std::int64_t stamped_ns = 0;
  // The first rank of each clock, rank 0 first, and where they compare them: apart from what the program has sent and
  // nobody has received.
  std::vector<int> first_of_clock;
  MPI_Comm comm_of_clocks;
  Operation event = Operation::end;  // the last one that was begun

  Numbers comm_ids, win_ids, request_ids, message_ids;
  std::unordered_map<std::uint64_t, KnownComm> comms;
  std::unordered_map<std::uint64_t, Word> wins;
  std::unordered_multimap<std::uint64_t, Word> request_of;
  std::vector<Request> requests;
  std::vector<Word> waiting;  // requests of the call that is going on, in its order; none where there is none
  std::unordered_map<std::uint64_t, Matched> messages;
  std::vector<MPI_Status> statuses;  // where the program wants none, and we do

  MPI_Comm no_comm;

  // Writes what comes before the parameters.
  void begin_event(Operation operation);
  // When the call was whose events were written last.
  void stamp(Call call, double entered_s, double left_s);
  // Bytes that the event sends.
  void add_bytes(Word bytes) { header->counted[static_cast<int>(event)].bytes += bytes; }
  // A test has found nothing.
  void polled() {
    polling = true;
    ++header->polls;
  }
  void unsupported(Call call);

  // Null for one that nobody has seen being made.
  const KnownComm* comm(MPI_Comm comm);
  // The numbers of new ones.
  Word add_comm(MPI_Comm comm);
  Word add_comm(MPI_Comm comm, int size, int rank);
  void remove_comm(MPI_Comm comm);
  Word add_win(MPI_Win win);
  void remove_win(MPI_Win win);
  Word add_request(std::uint64_t key, const Asked& asked);
  Word add_active_request(std::uint64_t key);
  void release(Word request);
};

extern Recorder recorder;
// Whether this thread is inside of a call that is recorded: MPIs call themselves, Fortran's by way of C's.
extern constinit thread_local int nested_here __attribute__((tls_model("initial-exec")));
inline int& nested() { return nested_here; }

inline bool counts() { return recorder.recording.load(std::memory_order_relaxed) && nested() == 0; }

// After MPI_Init and before MPI_Finalize; collective.
void begin();
void end();
// MPI_Pcontrol: a trace has no phases; but of calls that the profiler does not count nobody waits.
void control(int level);

}  // namespace kiviat::prof
