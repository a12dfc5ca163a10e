// One rank that makes the calls of its stream.
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
  double scale;  // seconds here for each recorded one
  // Whether calls of MPI_Alltoallv have parts that are empty. SMPI's algorithms send these too, MPICH's and Open MPI's
  // do not; ranks have to agree, and can only where nobody ever has such parts.
  bool sparse;
};

// Whether anything goes on, beside ranks that look for messages.
struct Progress {
  std::int64_t calls = 0;  // of all ranks
  int computing = 0;       // ranks
};

class Rank {
 public:
  Rank(Cursor& stream, const Setting& setting, Progress& progress)
      : stream_(stream), setting_(setting), progress_(progress) {}
  // All throw std::runtime_error for what cannot be.
  // Until MPI_Finalize.
  void run();
  // Waits for messages that the program did not wait for: others still receive them.
  void finish();
  double computed_s() const { return computed_s_; }

 private:
  struct Part {
    int count;
    MPI_Datatype type;
    std::size_t bytes;
  };
  // A request, or several that the program knows as one; a barrier is made when it is waited for.
  struct Pending {
    MPI_Request one = MPI_REQUEST_NULL;
    std::vector<MPI_Request> more = {};
    MPI_Comm barrier = MPI_COMM_NULL;
    bool sends = false, cancelled = false;
  };
  struct Array {
    std::vector<int> counts = {}, nowhere = {};  // displacements: what is sent and received is looked at by nobody
    std::size_t most = 0, whole = 0;             // bytes
    MPI_Datatype type;
  };
  // Between MPI_Win_start and MPI_Win_complete, MPI_Win_post and MPI_Win_wait: without the first the simulator does not
  // survive the second.
  struct Window {
    MPI_Win win = MPI_WIN_NULL;
    int ranks = 0;
    bool started = false, posted = false;
  };

  void compute(Word recorded_ns);
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
  void free_comm();
  void window(Operation operation);
  void remote(Operation operation);
  void synchronise(Operation operation);

  MPI_Comm comm();
  Window& window();
  enum class From { one, any };
  int root(MPI_Comm comm);
  // Of so many ranks.
  int peer(int ranks, From from);
  int tag(From from);
  // Of elements only where a sum is split between them. SimGrid copies whatever is of a type that it does not know; of
  // one that it does it copies nothing.
  Part part(bool summed = false);
  Part of_bytes(Word all) const;
  Array array(int ranks);
  // Of each of so many ranks, in bytes.
  std::vector<std::int64_t> parts(int ranks);
  // Different ones of so many.
  std::vector<int> ranks(int all);
  Word bytes(Word count, Word size);
  MPI_Datatype element(Word size);
  MPI_Op operation(bool commutes) const { return commutes ? commuting_ : ordered_; }
  // Address of the call's request; null if the call blocks.
  MPI_Request* pending();
  Pending& slot(Word number) { return requests_[number]; }
  void put_comm(Word number, MPI_Comm comm);
  // All exchange at once, the empty parts left out.
  void exchange(const std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from,
                const std::vector<int>& targets, const std::vector<int>& sources, MPI_Comm comm, int tag, Word request);

  Cursor& stream_;
  Setting setting_;
  Progress& progress_;
  double computed_s_ = 0;
  // By numbers, which are small, unless somebody made them up.
  std::unordered_map<Word, MPI_Comm> comms_;
  std::unordered_map<Word, Window> wins_;
  std::unordered_map<Word, Pending> requests_;
  std::vector<MPI_Request> abandoned_;  // sends that nobody waits for
  std::vector<MPI_Request> waited_;
  std::unordered_map<Word, MPI_Datatype> elements_;
  MPI_Op commuting_ = MPI_OP_NULL, ordered_ = MPI_OP_NULL;
};

int size_of(MPI_Comm comm);
int rank_in(MPI_Comm comm);

}  // namespace kiviat::trace
