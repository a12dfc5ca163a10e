// Replay of one rank: issues the MPI calls of its stream inside the simulator.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/replay/cursor.hpp"

namespace kiviat::trace {

struct Setting {
  double scale;  // factor of recorded computation times
  // True if any rank called MPI_Alltoallv with empty parts. SMPI's algorithms send empty messages, MPICH's and Open
  // MPI's do not. All ranks must choose the same algorithm, so one value holds for the whole trace.
  bool sparse;
  // True if any rank made a collective while other threads of it called MPI. Such a collective is non-blocking in the
  // trace, and so all ranks replay all collectives as such.
  bool apart = false;
};

// Detects whether ranks other than those that probe for messages make progress.
struct Progress {
  std::int64_t calls = 0;  // number of calls of all ranks
  int computing = 0;       // number of ranks that compute
};

class Rank {
 public:
  Rank(Cursor& stream, const Setting& setting, Progress& progress)
      : stream_(stream), setting_(setting), progress_(progress) {}
  // Issues all calls up to MPI_Finalize. Throws std::runtime_error, with rank and position, if the stream is invalid.
  void run();
  // Waits for sends whose requests the program freed: their receivers may still need them.
  void finish();
  double computed_s() const { return computed_s_; }

 private:
  struct Part {
    int count;
    MPI_Datatype type;
    std::size_t bytes;
  };
  // A pending request of the program: one request of the simulator, or several (`more`).
  struct Pending {
    MPI_Request one = MPI_REQUEST_NULL;
    std::vector<MPI_Request> more = {};
    bool sends = false, cancelled = false;
  };
  // `remote`: ranks of the other group of a communicator between two groups, else empty.
  struct Comm {
    MPI_Comm comm = MPI_COMM_NULL;
    std::vector<int> remote = {};
  };
  struct Array {
    std::vector<int> counts = {}, nowhere = {};  // `nowhere`: displacements, all 0 because contents do not matter
    std::size_t most = 0, whole = 0;             // bytes of the largest part and of all parts
    MPI_Datatype type;
  };
  // `started`: between MPI_Win_start and MPI_Win_complete; `posted`: between MPI_Win_post and MPI_Win_wait. Checked
  // here because the simulator crashes if an epoch is closed that was never opened.
  struct Window {
    MPI_Win win = MPI_WIN_NULL;
    int ranks = 0;
    bool started = false, posted = false;
  };

  void compute(double recorded_s);
  void change_thread(double ended_s);
  void step(Operation operation);
  void send(Operation operation);
  void receive();
  void start_send(Operation operation);
  void start_receive();
  void send_and_receive();
  void probe();
  void wait();
  void give_up();
  void cancel();
  void barrier();
  void rooted(Operation operation);
  void rooted_array(Operation operation);
  void reduce();
  void equal_parts(Operation operation);
  void allgatherv();
  void alltoallv();
  void alltoallw();
  void reduction(Operation operation);
  void reduce_scatter();
  void neighbours();
  void new_comm(Operation operation);
  void new_intercomm();
  void free_comm();
  void window(Operation operation);
  void remote(Operation operation);
  void synchronise(Operation operation);

  const Comm& group();
  MPI_Comm comm() { return group().comm; }
  Window& window();
  enum class From { one, any };
  int root(MPI_Comm comm);
  // Reads a rank of a communicator of `ranks` ranks; wildcards are valid only with From::any.
  int peer(int ranks, From from);
  // The same for a communicator; returns the rank in it of a rank of the other group, if there are two.
  int peer(MPI_Comm over, const std::vector<int>& remote, From from);
  int tag(From from);
  // Reads count and element size. The result has elements of that size only for reductions (`summed`), whose algorithms
  // split vectors between elements; otherwise it uses predefined types, because SimGrid copies the payload of derived
  // types.
  Part part(bool summed = false);
  // Counts are int: longer messages consist of longer elements, and are rounded up to 16 bytes if none divides them.
  Part of_bytes(Word all) const;
  struct Element {
    MPI_Datatype type;
    Word bytes;
  };
  // Returns the longest predefined type, of 16 bytes at most, that divides a number of bytes.
  static Element longest_element(Word divisor);
  // Reads the parts of `ranks` ranks. `shared`: every rank has the same array, so all round alike, and algorithms may
  // add its parts; otherwise parts keep their exact size, because the rank at the other end does not know the others.
  Array array(int ranks, bool shared);
  // Reads the bytes for each of `ranks` ranks.
  std::vector<std::int64_t> parts(int ranks);
  // Reads a list of distinct ranks of a communicator of `all` ranks.
  std::vector<int> ranks(int all);
  Word bytes(Word count, Word size);
  MPI_Datatype element(Word size);
  MPI_Op operation(bool commutes) const { return commutes ? commuting_ : ordered_; }
  // Address of the call's request; null if the call blocks. A collective waits at its end if all are non-blocking.
  MPI_Request* pending();
  MPI_Request* pending_collective();
  Pending& slot(Word number) { return requests_[number]; }
  void put_comm(Word number, MPI_Comm comm);
  static MPI_Comm comm_of(MPI_Comm parent, const std::vector<int>& members);
  // Sends to[i] bytes to targets[i] and receives from[i] bytes from sources[i], all at once; skips empty parts.
  void exchange(const std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from,
                const std::vector<int>& targets, const std::vector<int>& sources, MPI_Comm comm, int tag, Word request);

  Cursor& stream_;
  Setting setting_;
  Progress& progress_;
  double computed_s_ = 0;
  // The thread whose events are issued, and when the last event of each other thread ended.
  Word thread_ = 0;
  std::unordered_map<Word, double> threads_;
  // Indexed by the numbers in the trace. These are maps, not vectors, because a damaged file may contain huge numbers.
  std::unordered_map<Word, Comm> comms_;
  std::unordered_map<Word, Window> wins_;
  std::unordered_map<Word, Pending> requests_;
  std::vector<MPI_Request> abandoned_;  // sends whose requests were freed
  std::vector<MPI_Request> waited_;
  MPI_Request own_ = MPI_REQUEST_NULL;  // of a collective that blocked in the program
  std::unordered_map<Word, MPI_Datatype> elements_;
  MPI_Op commuting_ = MPI_OP_NULL, ordered_ = MPI_OP_NULL;
};

int size_of(MPI_Comm comm);
int rank_in(MPI_Comm comm);

}  // namespace kiviat::trace
