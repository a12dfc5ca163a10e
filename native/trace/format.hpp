// Trace format: the MPI calls of one rank, in program order, and the computation time between them. A trace contains no
// communication times, so it can be replayed on machines with other networks.
//
// The file of a rank consists of a header of 64-bit words, a JSON description of these words, and the stream of events:
//
//   computed operation parameters…
//
// All values are LEB128 numbers. `computed` is computation time in ns; `zz:` marks signed values in zigzag encoding (0,
// -1, 1, -2, …). Ranks are ranks of the communicator. Communicators, windows and requests are identified by small
// numbers, reused once they are free. `request+1` is 0 for a blocking call and the number plus one otherwise. A
// datatype is represented by its size in bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kiviat::trace {

inline constexpr const char* format = "kiviat.trace/1";

using Word = std::uint64_t;

// `counts` is run-length encoded: pairs (count, repetitions) until every rank has one.
// `commutes`: 1 if the reduction operator commutes, else 0. An operation without comment has the parameters of the one
// above it.
// clang-format off: a table
#define KIVIAT_OPERATIONS(X)                                                                                    \
  X(end)           /* MPI_Finalize */                                                                           \
  X(send)          /* comm zz:to zz:tag count size */                                                           \
  X(ssend)                                                                                                      \
  X(bsend)                                                                                                      \
  X(isend)         /* comm zz:to zz:tag count size request */                                                   \
  X(issend)                                                                                                     \
  X(recv)          /* comm zz:from zz:tag count size */                                                         \
  X(irecv)         /* comm zz:from zz:tag count size request */                                                 \
  X(sendrecv)      /* comm zz:to zz:tag count size zz:from zz:tag count size */                                 \
  X(probe)         /* comm zz:from zz:tag */                                                                    \
  X(wait)          /* n requests */                                                                             \
  X(free_request)  /* request */                                                                                \
  X(cancel)        /* request */                                                                                \
  X(barrier)       /* comm request+1 */                                                                         \
  X(bcast)         /* comm root count size request+1 */                                                         \
  X(gather)                                                                                                     \
  X(scatter)                                                                                                    \
  X(reduce)        /* comm root count size commutes request+1 */                                                \
  X(gatherv)       /* comm root count size, on the root also size counts, request+1 */                          \
  X(scatterv)                                                                                                   \
  X(allgather)     /* comm count size request+1 */                                                              \
  X(alltoall)                                                                                                   \
  X(allgatherv)    /* comm size counts request+1 */                                                             \
  X(alltoallv)     /* comm size counts size counts request+1 */                                                 \
  X(alltoallw)     /* comm, bytes to each rank, bytes from each rank, request+1 */                              \
  X(allreduce)     /* comm count size commutes request+1 */                                                \
  X(scan)                                                                                                       \
  X(exscan)                                                                                                     \
  X(reduce_scatter_block)                                                                                       \
  X(reduce_scatter)  /* comm size counts commutes request+1 */                                                  \
  X(neighbours)    /* comm n (zz:to bytes)… n (zz:from bytes)… request+1 */                                     \
  X(comm_dup)      /* comm new */                                                                               \
  X(comm_split)    /* comm zz:colour zz:key new; new is 0 if the rank gets no communicator */                   \
  X(comm_create)   /* comm n (first zz:step length)… new; members as ranks of comm */                           \
  X(comm_free)     /* comm */                                                                                   \
  X(win_create)    /* comm bytes unit new */                                                                    \
  X(win_free)      /* win */                                                                                    \
  X(put)           /* win zz:target count size request+1 */                                                     \
  X(get)                                                                                                        \
  X(accumulate)                                                                                                 \
  X(get_accumulate)                                                                                             \
  X(fetch_and_op)                                                                                               \
  X(compare_and_swap)                                                                                           \
  X(win_fence)     /* win */                                                                                    \
  X(win_complete)                                                                                               \
  X(win_wait)                                                                                                   \
  X(win_lock_all)                                                                                               \
  X(win_unlock_all)                                                                                             \
  X(win_flush_all)                                                                                              \
  X(win_start)     /* win n (first zz:step length)…; members of the group */                                    \
  X(win_post)                                                                                                   \
  X(win_lock)      /* win exclusive(0/1) rank */                                                                \
  X(win_unlock)    /* win rank */                                                                               \
  X(win_flush)                                                                                                  \
  X(stamp)         /* call, ns since the last exit, ns inside; times of the events before it, if any */                 \
  X(members)       /* comm n (first zz:step length)…; members of a new comm as world ranks; with stamps */      \
  X(matched)       /* message; follows its probe and precedes its receive; with stamps only */                  \
  X(ends)          /* request that completes the comm_dup before it; with stamps only */                        \
  X(control)       /* 1 if calls count from now on, else 0; with stamps only */                                  \
  X(thread)        /* thread ns; the next events are its, after ns of its own computation since its last event */ \
  X(intercomm)     /* n (first zz:step length)… of this group, the same of the other, as ranks of the world; new, and  \
                      new of this group; events on the former name ranks of the other group */
// clang-format on

enum class Operation : std::uint8_t {
#define KIVIAT_OPERATION(name) name,
  KIVIAT_OPERATIONS(KIVIAT_OPERATION)
#undef KIVIAT_OPERATION
      count
};
inline constexpr int most_operations = 96;
static_assert(static_cast<int>(Operation::count) <= most_operations);

// Special values of ranks and tags: MPI_PROC_NULL (or no colour) and wildcards.
inline constexpr std::int64_t nobody = -1, any = -2;
inline constexpr Word world = 0, self = 1, unseen = UINT32_MAX;

// Header fields, in order. Texts follow, then two words for each operation: calls and bytes sent.
//   length           bytes of the stream
//   polls            unsuccessful MPI_Test…, MPI_Request_get_status, MPI_Iprobe and MPI_Improbe calls
//   sparse           MPI_Alltoallv calls with at least one empty part
//   unsupported      1 + the number of the first call that cannot be replayed; 0 if there is none
//   other_threads    calls of threads other than the first, if they are not recorded: with stamps, or below
//                    MPI_THREAD_SERIALIZED
//   crossed          1 + the number of the first call that cannot be replayed because calls of other threads of the
//                    process began or ended meanwhile; 0 if there is none
//   apart            blocking collectives that are recorded as a beginning and a wait for the same reason
//   failed           1 + the number of the first call that failed and may have done something before; 0 if there is
//                    none. Of failed calls only times are recorded
//   unseen           uses of communicators and windows whose creation was not recorded
//   lost             1 if the disk was full and events are missing
//   parents          number of ranks that started this world by MPI_Comm_spawn; 0 if the launcher started it
//   stamps           1 if the stream contains time stamps instead of computation times
//   begun_ns         local time at which the stamps begin
//   clock            identifies the clock that this rank reads; ranks with equal values need no offset
//   offset…          clock of rank 0 minus this clock, in ns, signed, at local time moment…, from a round trip of
//                    length trip…; measured before and after the run by the first rank of each clock
// clang-format off: a table
#define KIVIAT_TRACE_FIELDS(X)                                                                                         \
  X(magic) X(rank) X(ranks) X(stage) X(length) X(events) X(computed_ns) X(elapsed_ns) X(clock_ns) X(polls) X(sparse)     \
  X(unsupported) X(other_threads) X(unseen) X(lost) X(process) X(started_s) X(node) X(stamps) X(begun_ns) X(clock)       \
  X(offset_before_ns) X(moment_before_ns) X(trip_before_ns) X(offset_after_ns) X(moment_after_ns) X(trip_after_ns)  \
  X(crossed) X(apart) X(failed) X(parents)
// clang-format on
#define KIVIAT_TRACE_TEXTS(X) X(host, 64) X(library, 128) X(program, 128)

enum class Stage : Word { recording = 1, ended = 2 };

inline constexpr Word magic = 0x316563617274766b;  // "kvtrace1"

struct Counted {
  Word calls, bytes;
};

struct Header {
#define KIVIAT_FIELD(name) Word name;
  KIVIAT_TRACE_FIELDS(KIVIAT_FIELD)
#undef KIVIAT_FIELD
#define KIVIAT_TEXT(name, bytes) char name[bytes];
  KIVIAT_TRACE_TEXTS(KIVIAT_TEXT)
#undef KIVIAT_TEXT
  Counted counted[most_operations];
};

// Positions of the description and of the stream in the file, in bytes.
inline constexpr std::size_t description_at = 8192, stream_at = 65536;
static_assert(sizeof(Header) <= description_at);

inline Word folded(std::int64_t value) { return static_cast<Word>(value) << 1 ^ static_cast<Word>(value >> 63); }
inline std::int64_t unfolded(Word value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

}  // namespace kiviat::trace
