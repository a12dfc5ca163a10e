// Preloaded MPI wrapper that damages messages, to test that benchmarks detect lost and corrupted data.
//
//     mpirun -n 2 env KIVIAT_FAULT=drop LD_PRELOAD=libkiviat-faults.so kiviat-bench ...
//
// KIVIAT_FAULT=corrupt   flips one bit of received data; in doubles a bit of the exponent, because a change of the last
//                        digit looks like rounding
//              drop      replaces received data by the previous content of the memory, although the call returns; a
//                        barrier returns without waiting
//              truncate  replaces the second half of received data in this way
//              duplicate replaces received data by those of the message of the same length before
//              delay     delays the first twenty messages of a case by half a millisecond each
//              lose      puts a message elsewhere if MPI_Irecv asks for it while another of the same sender and tag is
//                        under way
// KIVIAT_FAULT_RANK=r    damages only what rank r of the world receives
// KIVIAT_FAULT_ONLY=n    damages only the n-th message that a rank receives in a case
// KIVIAT_FAULT_FROM=n    damages only the n-th and later ones
// KIVIAT_FAULT_ROOT=r    damages only collectives with root r
//
// Only messages of benchmarks are damaged, because the harness must keep working. They are calls
//   - on a trial's communicator, which is split twice from the world (participating ranks, then groups). The harness
//     splits the world once per case, and a duplicate of the world for its clock;
//   - of MPI_BYTE or MPI_FLOAT, and sums of three or more doubles that all ranks get. The harness uses MPI_DOUBLE on
//     that communicator, but has no such sums.
// Data that a rank receives from itself stays intact, so that checks must look at data of other ranks. Data of
// one-sided operations on windows of such communicators is damaged on its way into the target's memory or, when the
// epoch or flush ends, in the origin's memory.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "platform/mpi4.hpp"

namespace {

enum class Mode { none, corrupt, drop, truncate, duplicate, delay, lose };

Mode mode() {
  static const Mode chosen = [] {
    const char* given = std::getenv("KIVIAT_FAULT");
    const std::string name = given ? given : "";
    if (name == "corrupt") return Mode::corrupt;
    if (name == "drop") return Mode::drop;
    if (name == "truncate") return Mode::truncate;
    if (name == "duplicate") return Mode::duplicate;
    if (name == "delay") return Mode::delay;
    if (name == "lose") return Mode::lose;
    return Mode::none;
  }();
  return chosen;
}

// --- communicators of the benchmarks ---------------------------------------------------------------

int generation_key() {
  static const int key = [] {
    int made;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &made, nullptr);
    return made;
  }();
  return key;
}

// Number of splits that lead from MPI_COMM_WORLD to a communicator.
std::size_t generation(MPI_Comm comm) {
  void* value = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(comm, generation_key(), &value, &found);
  return found ? reinterpret_cast<std::size_t>(value) : 0;
}

void set_generation(MPI_Comm comm, std::size_t parts) {
  if (comm != MPI_COMM_NULL) PMPI_Comm_set_attr(comm, generation_key(), reinterpret_cast<void*>(parts));
}

bool on_rank(int rank_of_world) {
  static const char* const given = std::getenv("KIVIAT_FAULT_RANK");
  return !given || std::atoi(given) == rank_of_world;
}

bool on_this_rank() {
  static const bool damaged = [] {
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return on_rank(rank);
  }();
  return damaged;
}

bool of_a_trial(MPI_Comm comm) { return mode() != Mode::none && on_this_rank() && generation(comm) >= 2; }
bool payload(MPI_Comm comm, MPI_Datatype type) { return of_a_trial(comm) && (type == MPI_BYTE || type == MPI_FLOAT); }

bool on_root(int root) {
  static const char* const given = std::getenv("KIVIAT_FAULT_ROOT");
  return !given || std::atoi(given) == root;
}

// --- received data, and its damage -----------------------------------------------------------------------

struct Part {
  std::byte* at;
  std::size_t bytes;
  bool floats = false;  // elements are float, not double
};
using Parts = std::vector<Part>;

std::atomic<long> received_in_case = 0;
struct Latest {
  std::vector<std::byte> newest, older;
};
std::map<std::size_t, Latest> latest;  // messages, by their length
std::mutex latest_lock;                // a rank may have several threads

// Replaces a message by the previous different one of the same length, possibly of an earlier case; the first message
// by zeros.
void repeat(std::byte* at, std::size_t bytes) {
  const std::lock_guard guard(latest_lock);
  Latest& known = latest[bytes];
  std::vector<std::byte> now(at, at + bytes);
  if (now != known.newest) known.older = std::exchange(known.newest, std::move(now));
  known.older.resize(bytes);
  std::memcpy(at, known.older.data(), bytes);
}

// The first messages of a case are late: thousands of them would take minutes.
void wait_a_little() {
  if (received_in_case <= 20) usleep(500);
}

bool is_damaged() {
  static const char* const only = std::getenv("KIVIAT_FAULT_ONLY");
  static const char* const from = std::getenv("KIVIAT_FAULT_FROM");
  const long number = ++received_in_case;
  return mode() != Mode::lose && (!only || number == std::atol(only)) && (!from || number >= std::atol(from));
}

class Received {
 public:
  explicit Received(const Parts& parts) {
    if (parts.empty() || !is_damaged()) return;
    for (const Part& part : parts)
      if (part.at && part.bytes > 0) parts_.push_back({part, {part.at, part.at + part.bytes}});
  }
  // Damages each part; at most `most` bytes of it arrived.
  void damage(std::size_t most = SIZE_MAX) {
    for (auto& [part, before] : parts_) {
      const std::size_t came = std::min(part.bytes, most);
      if (came == 0) continue;
      if (mode() == Mode::delay) return wait_a_little();
      if (mode() == Mode::duplicate) {
        repeat(part.at, came);
        continue;
      }
      if (mode() == Mode::corrupt) {
        part.at[part.floats ? came / 2 : std::min(came / 2 | 7, came - 1)] ^= std::byte{1};
        return;
      }
      const std::size_t arrived = mode() == Mode::truncate ? came / 2 : 0;
      std::memcpy(part.at + arrived, before.data() + arrived, came - arrived);
    }
  }
  void* where() const { return parts_.empty() ? nullptr : parts_.front().part.at; }

 private:
  struct Saved {
    Part part;
    std::vector<std::byte> before;
  };
  std::vector<Saved> parts_;
};

// Several messages in flight to the same memory are damaged together when the last one completes; otherwise one would
// overwrite the damage of another.
struct UnderWay {
  Received received;
  bool collective;
  int messages = 0;
  std::size_t came = 0;  // length of the longest message; the buffer may be larger
};
std::map<void*, std::shared_ptr<UnderWay>> by_place;
std::multimap<MPI_Request, std::shared_ptr<UnderWay>> by_request;
// The data that each start of a persistent request will receive.
struct Persistent {
  Parts parts;
  bool collective;
};
std::map<MPI_Request, Persistent> persistent;
using Stream = std::tuple<MPI_Comm, int, int>;  // communicator, sender and tag
std::map<MPI_Request, Stream> asked;            // messages that MPI_Irecv has asked for, with KIVIAT_FAULT=lose
std::mutex under_way_lock;                      // a rank may have several threads

template <class Call>
int blocking(const Parts& parts, Call call) {
  Received received(parts);
  const int code = call();
  received.damage();
  return code;
}

void under_way(Received received, MPI_Request request, bool collective) {
  if (void* where = received.where()) {
    auto& at = by_place[where];
    if (!at) at = std::make_shared<UnderWay>(UnderWay{std::move(received), collective});
    ++at->messages;
    by_request.emplace(request, at);
  }
}

template <class Call>
int starting(const Parts& parts, MPI_Request* request, bool collective, Call call) {
  Received received(parts);  // before the call: it may complete at once
  const std::lock_guard guard(under_way_lock);
  const int code = call();
  under_way(std::move(received), *request, collective);
  return code;
}

template <class Call>
int setting_up(Parts parts, MPI_Request* request, bool collective, Call call) {
  const int code = call();
  const std::lock_guard guard(under_way_lock);
  persistent.insert_or_assign(*request, Persistent{std::move(parts), collective});
  return code;
}

// Starts persistent requests.
template <class Call>
int restarting(int count, const MPI_Request requests[], Call call) {
  const std::lock_guard guard(under_way_lock);
  std::vector<std::pair<const Persistent*, Received>> received;
  for (int i = 0; i < count; ++i) {
    const auto found = persistent.find(requests[i]);
    const Persistent* known = found == persistent.end() ? nullptr : &found->second;
    received.emplace_back(known, Received(known ? known->parts : Parts{}));
  }
  const int code = call();
  for (int i = 0; i < count; ++i)
    if (auto& [known, own] = received[static_cast<std::size_t>(i)]; known)
      under_way(std::move(own), requests[i], known->collective);
  return code;
}

void completed(MPI_Request request, const MPI_Status& status) {
  const std::lock_guard guard(under_way_lock);
  asked.erase(request);
  const auto found = by_request.find(request);
  if (found == by_request.end()) return;
  const std::shared_ptr<UnderWay> under_way = found->second;
  by_request.erase(found);
  int bytes = 0;
  if (!under_way->collective) PMPI_Get_count(&status, MPI_BYTE, &bytes);
  under_way->came = under_way->collective ? SIZE_MAX : std::max(under_way->came, static_cast<std::size_t>(bytes));
  if (--under_way->messages > 0) return;
  by_place.erase(under_way->received.where());
  under_way->received.damage(under_way->came);
}

// --- windows ------------------------------------------------------------------------------------------

struct Exposed {
  std::vector<int> ranks_of_world;
  std::vector<Received> got;                    // received data to be damaged on completion
  std::vector<std::vector<std::byte>> instead;  // damaged copies of data to put
};
std::map<MPI_Win, Exposed> windows;

void expose(MPI_Comm comm, MPI_Win window) {
  if (mode() == Mode::none || generation(comm) < 2) return;
  MPI_Group members, world;
  PMPI_Comm_group(comm, &members);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  int size;
  PMPI_Group_size(members, &size);
  Exposed& exposed = windows[window];
  exposed.ranks_of_world.resize(size);
  std::vector<int> ranks(size);
  for (int rank = 0; rank < size; ++rank) ranks[rank] = rank;
  PMPI_Group_translate_ranks(members, size, ranks.data(), world, exposed.ranks_of_world.data());
  PMPI_Group_free(&members);
  PMPI_Group_free(&world);
}

// Damages data moved into the memory of `target`: calls `send` with a replacement of the `bytes` bytes at `from`, and
// its length.
template <class Send>
int into(MPI_Win window, int target, const void* from, std::size_t bytes, std::size_t element, std::size_t flipped,
         Send send) {
  const auto found = windows.find(window);
  if (found == windows.end() || !on_rank(found->second.ranks_of_world[target]) || bytes == 0) return send(from, bytes);
  if (mode() == Mode::drop) return MPI_SUCCESS;
  if (mode() == Mode::truncate) return send(from, bytes / 2 / element * element);
  if (mode() == Mode::delay) return wait_a_little(), send(from, bytes);
  const auto* first = static_cast<const std::byte*>(from);
  std::vector<std::byte>& copy = found->second.instead.emplace_back(first, first + bytes);
  if (mode() == Mode::duplicate)
    repeat(copy.data(), bytes);
  else
    copy[flipped] ^= std::byte{1};
  return send(copy.data(), bytes);
}

void fetched(MPI_Win window) {
  const auto found = windows.find(window);
  if (found == windows.end()) return;
  for (Received& received : found->second.got) received.damage();
  found->second.got.clear();
  found->second.instead.clear();
}

template <class Call>
int fetching(MPI_Win window, Call call) {
  const int code = call();
  fetched(window);
  return code;
}

// --- data that each operation receives from others -------------------------------------------------------

int rank_in(MPI_Comm comm) {
  int rank;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

int size_of(MPI_Comm comm) {
  int size;
  PMPI_Comm_size(comm, &size);
  return size;
}

std::size_t bytes_of(int count, MPI_Datatype type) {
  int size;
  PMPI_Type_size(type, &size);
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
}

Parts all(void* buffer, int count, MPI_Datatype type, MPI_Comm comm) {
  if (!payload(comm, type)) return {};
  return {{static_cast<std::byte*>(buffer), bytes_of(count, type), type == MPI_FLOAT}};
}

Parts all_sums(void* buffer, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  if (type != MPI_DOUBLE || op != MPI_SUM || count < 3 || !of_a_trial(comm)) return all(buffer, count, type, comm);
  return {{static_cast<std::byte*>(buffer), bytes_of(count, type)}};
}

Parts at(int root, void* buffer, int count, MPI_Datatype type, MPI_Comm comm) {
  return rank_in(comm) == root && on_root(root) ? all(buffer, count, type, comm) : Parts{};
}

Parts except(int root, void* buffer, int count, MPI_Datatype type, MPI_Comm comm) {
  return rank_in(comm) != root && on_root(root) ? all(buffer, count, type, comm) : Parts{};
}

Parts blocks(void* buffer, int count, MPI_Datatype type, MPI_Comm comm) {
  if (!payload(comm, type)) return {};
  Parts parts;
  const std::size_t bytes = bytes_of(count, type);
  for (int rank = 0; rank < size_of(comm); ++rank)
    if (rank != rank_in(comm)) parts.push_back({static_cast<std::byte*>(buffer) + rank * bytes, bytes});
  return parts;
}

Parts blocks(void* buffer, const int* counts, const int* displacements, MPI_Datatype type, MPI_Comm comm) {
  if (!payload(comm, type)) return {};
  Parts parts;
  for (int rank = 0; rank < size_of(comm); ++rank)
    if (rank != rank_in(comm))
      parts.push_back(
          {static_cast<std::byte*>(buffer) + bytes_of(displacements[rank], type), bytes_of(counts[rank], type)});
  return parts;
}

// One block from each neighbour in a Cartesian grid.
Parts neighbours_blocks(void* buffer, int count, MPI_Datatype type, MPI_Comm comm) {
  if (!payload(comm, type)) return {};
  int dimensions;
  PMPI_Cartdim_get(comm, &dimensions);
  Parts parts;
  const std::size_t bytes = bytes_of(count, type);
  for (int dimension = 0; dimension < dimensions; ++dimension) {
    int neighbours[2];
    PMPI_Cart_shift(comm, dimension, 1, &neighbours[0], &neighbours[1]);
    for (int side = 0; side < 2; ++side)
      if (neighbours[side] != rank_in(comm))
        parts.push_back({static_cast<std::byte*>(buffer) + (2 * dimension + side) * bytes, bytes});
  }
  return parts;
}

// Only the root's arguments are significant.
template <class... Arguments>
Parts blocks_at(int root, MPI_Comm comm, Arguments... arguments) {
  return rank_in(comm) == root && on_root(root) ? blocks(arguments..., comm) : Parts{};
}

// Returns the memory into which a message is received that `in` was meant for; with KIVIAT_FAULT=lose, that may be
// another.
void* lost(void* in, int count, MPI_Datatype type, const Stream& stream) {
  static std::map<std::size_t, std::vector<std::byte>> elsewhere;
  if (mode() != Mode::lose || !payload(std::get<0>(stream), type) || count == 0) return in;
  const std::lock_guard guard(under_way_lock);
  if (std::ranges::none_of(asked, [&](const auto& one) { return one.second == stream; })) return in;
  std::vector<std::byte>& memory = elsewhere[bytes_of(count, type)];
  memory.resize(bytes_of(count, type));
  return memory.data();
}

// Called when a communicator of a case or of its groups has been created. Returns `code`.
int part_of(MPI_Comm comm, const MPI_Comm* made, int code) {
  set_generation(*made, generation(comm) + 1);
  received_in_case = 0;
  return code;
}

}  // namespace

// --- wrappers of MPI functions ---------------------------------------------------------------------------

extern "C" {

int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm* made) {
  return part_of(comm, made, PMPI_Comm_split(comm, colour, key, made));
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  return part_of(comm, made, PMPI_Comm_create(comm, group, made));
}

int MPI_Cart_create(MPI_Comm comm, int dimensions, const int extents[], const int periodic[], int reorder,
                    MPI_Comm* made) {
  return part_of(comm, made, PMPI_Cart_create(comm, dimensions, extents, periodic, reorder, made));
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  const int code = PMPI_Comm_dup(comm, made);
  // Duplicates of the world serve the clock, which splits them once.
  set_generation(*made, generation(comm));
  return code;
}

// Point to point.

int MPI_Recv(void* in, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  return blocking(all(in, count, type, comm), [&] { return PMPI_Recv(in, count, type, source, tag, comm, status); });
}

int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag, void* in, int count,
                 MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  return blocking(all(in, count, type, comm), [&] {
    return PMPI_Sendrecv(out, out_count, out_type, to, out_tag, in, count, type, source, tag, comm, status);
  });
}

int MPI_Irecv(void* in, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  const Stream stream{comm, source, tag};
  void* const into = lost(in, count, type, stream);
  const int code = starting(all(in, count, type, comm), request, false,
                            [&] { return PMPI_Irecv(into, count, type, source, tag, comm, request); });
  if (mode() == Mode::lose && payload(comm, type) && count > 0) {
    const std::lock_guard guard(under_way_lock);
    asked.insert_or_assign(*request, stream);
  }
  return code;
}

// Persistent.

int MPI_Recv_init(void* in, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  return setting_up(all(in, count, type, comm), request, false,
                    [&] { return PMPI_Recv_init(in, count, type, source, tag, comm, request); });
}

int MPI_Start(MPI_Request* request) {
  return restarting(1, request, [&] { return PMPI_Start(request); });
}

int MPI_Startall(int count, MPI_Request requests[]) {
  return restarting(count, requests, [&] { return PMPI_Startall(count, requests); });
}

int MPI_Request_free(MPI_Request* request) {
  {
    const std::lock_guard guard(under_way_lock);
    persistent.erase(*request);
  }
  return PMPI_Request_free(request);
}

#ifdef KIVIAT_HAS_MPI4
int MPI_Precv_init(void* in, int partitions, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                   MPI_Info info, MPI_Request* request) {
  return setting_up(all(in, partitions * static_cast<int>(count), type, comm), request, true,
                    [&] { return PMPI_Precv_init(in, partitions, count, type, source, tag, comm, info, request); });
}
#endif

// One-sided.

int MPI_Win_create(void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  const int code = PMPI_Win_create(base, size, unit, info, comm, window);
  expose(comm, *window);
  return code;
}

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {
  const int code = PMPI_Win_allocate(size, unit, info, comm, base, window);
  expose(comm, *window);
  return code;
}

int MPI_Win_free(MPI_Win* window) {
  windows.erase(*window);
  return PMPI_Win_free(window);
}

int MPI_Put(const void* out, int out_count, MPI_Datatype out_type, int target, MPI_Aint at, int, MPI_Datatype type,
            MPI_Win window) {
  const std::size_t bytes = bytes_of(out_count, out_type), element = bytes_of(1, out_type);
  return into(window, target, out, bytes, element, bytes / 2, [&](const void* from, std::size_t moved) {
    const int count = static_cast<int>(moved / element);
    return PMPI_Put(from, count, out_type, target, at, count, type, window);
  });
}

// Flips a bit of an exponent, because addition would hide a change of the last digit.
int MPI_Accumulate(const void* out, int out_count, MPI_Datatype out_type, int target, MPI_Aint at, int,
                   MPI_Datatype type, MPI_Op op, MPI_Win window) {
  const std::size_t bytes = bytes_of(out_count, out_type), element = bytes_of(1, out_type);
  return into(window, target, out, bytes, element, bytes / 2 / element * element + element - 1,
              [&](const void* from, std::size_t moved) {
                const int count = static_cast<int>(moved / element);
                return PMPI_Accumulate(from, count, out_type, target, at, count, type, op, window);
              });
}

int MPI_Get(void* in, int count, MPI_Datatype type, int target, MPI_Aint at, int target_count, MPI_Datatype target_type,
            MPI_Win window) {
  const auto found = windows.find(window);
  if (found != windows.end() && on_this_rank())
    found->second.got.emplace_back(Parts{{static_cast<std::byte*>(in), bytes_of(count, type), type == MPI_FLOAT}});
  return PMPI_Get(in, count, type, target, at, target_count, target_type, window);
}

int MPI_Win_flush(int target, MPI_Win window) {
  return fetching(window, [&] { return PMPI_Win_flush(target, window); });
}
int MPI_Win_unlock(int target, MPI_Win window) {
  return fetching(window, [&] { return PMPI_Win_unlock(target, window); });
}
int MPI_Win_fence(int assertion, MPI_Win window) {
  return fetching(window, [&] { return PMPI_Win_fence(assertion, window); });
}
int MPI_Win_complete(MPI_Win window) {
  return fetching(window, [&] { return PMPI_Win_complete(window); });
}

// Completion.

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const MPI_Request before = *request;
  MPI_Status mine;
  const int code = PMPI_Wait(request, &mine);
  completed(before, mine);
  if (status != MPI_STATUS_IGNORE) *status = mine;
  return code;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  const std::vector<MPI_Request> before(requests, requests + count);
  std::vector<MPI_Status> mine(before.size());
  const int code = PMPI_Waitall(count, requests, mine.data());
  for (std::size_t i = 0; i < before.size(); ++i) completed(before[i], mine[i]);
  if (statuses != MPI_STATUSES_IGNORE) std::copy(mine.begin(), mine.end(), statuses);
  return code;
}

int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  const std::vector<MPI_Request> before(requests, requests + count);
  MPI_Status mine;
  const int code = PMPI_Waitany(count, requests, index, &mine);
  if (*index != MPI_UNDEFINED) completed(before[*index], mine);
  if (status != MPI_STATUS_IGNORE) *status = mine;
  return code;
}

int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  const MPI_Request before = *request;
  MPI_Status mine;
  const int code = PMPI_Test(request, done, &mine);
  if (*done) completed(before, mine);
  if (*done && status != MPI_STATUS_IGNORE) *status = mine;
  return code;
}

int MPI_Testall(int count, MPI_Request requests[], int* done, MPI_Status statuses[]) {
  const std::vector<MPI_Request> before(requests, requests + count);
  std::vector<MPI_Status> mine(before.size());
  const int code = PMPI_Testall(count, requests, done, mine.data());
  if (*done)
    for (std::size_t i = 0; i < before.size(); ++i) completed(before[i], mine[i]);
  if (*done && statuses != MPI_STATUSES_IGNORE) std::copy(mine.begin(), mine.end(), statuses);
  return code;
}

// Collectives, each with its non-blocking form.

int MPI_Barrier(MPI_Comm comm) { return mode() == Mode::drop && of_a_trial(comm) ? MPI_SUCCESS : PMPI_Barrier(comm); }

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  if (mode() != Mode::drop || !of_a_trial(comm)) return PMPI_Ibarrier(comm, request);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

#define KIVIAT_LIST(...) __VA_ARGS__

// Defines the persistent form, in Open MPI 4 an extension.
#ifdef KIVIAT_HAS_MPI4
#define KIVIAT_PREFIX(name) MPI_##name
#define KIVIAT_PROFILING_PREFIX(name) PMPI_##name
#elif defined(KIVIAT_HAS_MPIX)
#define KIVIAT_PREFIX(name) MPIX_##name
#define KIVIAT_PROFILING_PREFIX(name) PMPIX_##name
#endif
#ifdef KIVIAT_PREFIX
#define KIVIAT_PERSISTENT(name, parameters, arguments, parts)                                                      \
  int KIVIAT_PREFIX(name##_init)(KIVIAT_LIST parameters, MPI_Info info, MPI_Request * request) {                   \
    return setting_up(parts, request, true,                                                                        \
                      [&] { return KIVIAT_PROFILING_PREFIX(name##_init)(KIVIAT_LIST arguments, info, request); }); \
  }

int KIVIAT_PREFIX(Barrier_init)(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const bool dropped = mode() == Mode::drop && of_a_trial(comm);
  return KIVIAT_PROFILING_PREFIX(Barrier_init)(dropped ? MPI_COMM_SELF : comm, info, request);
}
#else
#define KIVIAT_PERSISTENT(name, parameters, arguments, parts)
#endif

// Defines the blocking, the non-blocking and the persistent form from parameters, arguments, and the data received from
// others.
#define KIVIAT_BOTH(blocking_name, name, parameters, arguments, parts)                                   \
  KIVIAT_PERSISTENT(blocking_name, parameters, arguments, parts)                                         \
  int MPI_##blocking_name(KIVIAT_LIST parameters) {                                                      \
    return blocking(parts, [&] { return PMPI_##blocking_name(KIVIAT_LIST arguments); });                 \
  }                                                                                                      \
  int MPI_I##name(KIVIAT_LIST parameters, MPI_Request* request) {                                        \
    return starting(parts, request, true, [&] { return PMPI_I##name(KIVIAT_LIST arguments, request); }); \
  }

KIVIAT_BOTH(Bcast, bcast, (void* in, int count, MPI_Datatype type, int root, MPI_Comm comm),
            (in, count, type, root, comm), (except(root, in, count, type, comm)))

KIVIAT_BOTH(Reduce, reduce,
            (const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
            (out, in, count, type, op, root, comm), (at(root, in, count, type, comm)))

KIVIAT_BOTH(Allreduce, allreduce, (const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
            (out, in, count, type, op, comm), (all_sums(in, count, type, op, comm)))

KIVIAT_BOTH(Reduce_scatter, reduce_scatter,
            (const void* out, void* in, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
            (out, in, counts, type, op, comm), (all(in, counts[rank_in(comm)], type, comm)))

KIVIAT_BOTH(Reduce_scatter_block, reduce_scatter_block,
            (const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
            (out, in, count, type, op, comm), (all(in, count, type, comm)))

KIVIAT_BOTH(Gather, gather,
            (const void* out, int out_count, MPI_Datatype out_type, void* in, int count, MPI_Datatype type, int root,
             MPI_Comm comm),
            (out, out_count, out_type, in, count, type, root, comm), (blocks_at(root, comm, in, count, type)))

KIVIAT_BOTH(Gatherv, gatherv,
            (const void* out, int out_count, MPI_Datatype out_type, void* in, const int counts[],
             const int displacements[], MPI_Datatype type, int root, MPI_Comm comm),
            (out, out_count, out_type, in, counts, displacements, type, root, comm),
            (blocks_at(root, comm, in, counts, displacements, type)))

KIVIAT_BOTH(Scatter, scatter,
            (const void* out, int out_count, MPI_Datatype out_type, void* in, int count, MPI_Datatype type, int root,
             MPI_Comm comm),
            (out, out_count, out_type, in, count, type, root, comm), (except(root, in, count, type, comm)))

KIVIAT_BOTH(Scatterv, scatterv,
            (const void* out, const int out_counts[], const int displacements[], MPI_Datatype out_type, void* in,
             int count, MPI_Datatype type, int root, MPI_Comm comm),
            (out, out_counts, displacements, out_type, in, count, type, root, comm),
            (except(root, in, count, type, comm)))

KIVIAT_BOTH(Allgather, allgather,
            (const void* out, int out_count, MPI_Datatype out_type, void* in, int count, MPI_Datatype type,
             MPI_Comm comm),
            (out, out_count, out_type, in, count, type, comm), (blocks(in, count, type, comm)))

KIVIAT_BOTH(Allgatherv, allgatherv,
            (const void* out, int out_count, MPI_Datatype out_type, void* in, const int counts[],
             const int displacements[], MPI_Datatype type, MPI_Comm comm),
            (out, out_count, out_type, in, counts, displacements, type, comm),
            (blocks(in, counts, displacements, type, comm)))

KIVIAT_BOTH(Alltoall, alltoall,
            (const void* out, int out_count, MPI_Datatype out_type, void* in, int count, MPI_Datatype type,
             MPI_Comm comm),
            (out, out_count, out_type, in, count, type, comm), (blocks(in, count, type, comm)))

KIVIAT_BOTH(Alltoallv, alltoallv,
            (const void* out, const int out_counts[], const int out_displacements[], MPI_Datatype out_type, void* in,
             const int counts[], const int displacements[], MPI_Datatype type, MPI_Comm comm),
            (out, out_counts, out_displacements, out_type, in, counts, displacements, type, comm),
            (blocks(in, counts, displacements, type, comm)))

KIVIAT_BOTH(Neighbor_allgather, neighbor_allgather,
            (const void* out, int out_count, MPI_Datatype out_type, void* in, int count, MPI_Datatype type,
             MPI_Comm comm),
            (out, out_count, out_type, in, count, type, comm), (neighbours_blocks(in, count, type, comm)))

KIVIAT_BOTH(Neighbor_alltoall, neighbor_alltoall,
            (const void* out, int out_count, MPI_Datatype out_type, void* in, int count, MPI_Datatype type,
             MPI_Comm comm),
            (out, out_count, out_type, in, count, type, comm), (neighbours_blocks(in, count, type, comm)))

}  // extern "C"
