// Counters of a rank: 64-bit words in a memory-mapped file, which survives a crash of the process.
//
//   header | slots | groups | rows: sent, collective, fetched, crossed (two words for each rank of the world)
//
// A JSON description of the words follows in the file, not mapped, so readers need no layout of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace kiviat::prof {

inline constexpr const char* format = "kiviat.profile/2";

using Word = std::uint64_t;

// Distance of a message. `itself` includes MPI_PROC_NULL and file I/O. `unknown`: the ranks share a node, but one may
// run on several sockets. Values increase with distance: the time of a call counts for its farthest rank.
enum Distance : int { itself, same_socket, same_node, unknown, other_node, distances };
// Histogram of message sizes: 0, 1, 2–3, 4–7, … bytes; the last class has no upper limit.
inline constexpr int size_classes = 36;

// Counters of one MPI call in one phase.
struct Slot {
  Word key;  // 1 + call + 256 · phase; 0 is unused
  Word calls[distances], ticks[distances];
  Word bytes[distances];  // sent, by distance
  Word messages;          // number of messages sent
  Word longest;           // ticks of the longest call
  Word sizes[size_classes];
};

// Traffic of collectives in which each member sends the same to all others. Members are base, base + stride, …; one
// entry replaces a row entry for each pair.
struct Group {
  Word size;
  std::int64_t base, stride;
  Word messages, bytes;  // from each member to each other one
  Word reduced;          // bytes of contributions to allreduce
};

struct Cell {
  Word messages, bytes;
};
// Traffic to each world rank. `crossed`: messages as the simulator moved them, valid if header.crossing is set.
enum Row : int { sent, collective, fetched, crossed, rows };

// Header fields, in order. Texts follow. With MPI_THREAD_MULTIPLE, `other_threads` counts threads that call MPI besides
// the one that initialised it, and `other_ticks` sums their times, each from its first to the end of its last call.
// `spawned`: processes that this rank started as the root of MPI_Comm_spawn; `parents`: number of ranks that started
// this world, 0 if the launcher did. `off_ticks`: time for which MPI_Pcontrol(0) switched counting off, not part of
// `other_ticks`; calls of other threads that began before count in full.
// clang-format off: a table
// clang-format off: a table
#define KIVIAT_FIELDS(X)                                                                                               \
  X(magic) X(rank) X(ranks) X(stage) X(phase) X(inside) X(inside_since) X(first_ticks) X(first_ns) X(last_ticks)         \
  X(last_ns) X(started_s) X(counter) X(threads) X(socket) X(sockets) X(node) X(process) X(lost_slots) X(lost_groups)    \
  X(lost_persistent) X(unseen_sends) X(in_memory) X(interfaces) X(sent_before) X(received_before) X(sent_after)         \
  X(received_after) X(crossing) X(latest) X(resident) X(other_threads) X(other_ticks) \
  X(spawned) X(parents) X(off_ticks)
// clang-format on
// clang-format on

// Names and lengths in bytes of the texts. The last two are normally equal on all ranks; a merged profile stores them
// for rank 0 only.
#define KIVIAT_TEXTS(X) X(host, 64) X(node_name, 96) X(cpus, 96) X(library, 128) X(program, 128)

enum class Stage : Word { counting = 1, ended = 2 };

inline constexpr Word magic = 0x31666f7270766b;  // "kvprof1"
inline constexpr int most_slots = 96, most_groups = 32, most_phases = 16;

struct Header {
#define KIVIAT_FIELD(name) Word name;
  KIVIAT_FIELDS(KIVIAT_FIELD)
#undef KIVIAT_FIELD
#define KIVIAT_TEXT(name, bytes) char name[bytes];
  KIVIAT_TEXTS(KIVIAT_TEXT)
#undef KIVIAT_TEXT
};

struct State {
  Header header;
  Slot slots[most_slots];
  Group groups[most_groups];
  Cell row[1];  // rows × ranks
};

inline constexpr std::size_t words_without_rows = offsetof(State, row) / sizeof(Word);
inline std::size_t words_of(std::size_t ranks) {
  return words_without_rows + rows * ranks * sizeof(Cell) / sizeof(Word);
}

}  // namespace kiviat::prof
