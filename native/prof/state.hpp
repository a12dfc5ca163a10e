// What a rank has counted: words of 64 bits in a mapped file, so that it outlives the process, however that ends.
//
//   header | slots | groups | rows: sent, collective, fetched, crossed (two words for each rank of the world)
//
// Behind it, not mapped, stands a description of the words in JSON: nobody who reads them keeps a second list.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace kiviat::prof {

inline constexpr const char* format = "kiviat.profile/2";

using Word = std::uint64_t;

// Distance of a message. What a rank sends to itself or to MPI_PROC_NULL stays inside, and file I/O is no
// message. If ranks may run on several sockets, the distance is unknown. Values increase with distance: time
// counts for the farthest rank that a call involves.
enum Distance : int { itself, same_socket, same_node, unknown, other_node, distances };
// Sizes 0, 1, 2–3, 4–7, …; the last one has all that are larger.
inline constexpr int size_classes = 36;

// One for each call in each phase that happens.
struct Slot {
  Word key;  // 1 + call + 256 · phase; 0 is unused
  Word calls[distances], ticks[distances];
  Word bytes[distances];  // sent
  Word messages;          // sent
  Word longest;           // ticks of the longest call
  Word sizes[size_classes];
};

// Collectives on equal members (base, base + stride, …), as far as each gives all others the same.
struct Group {
  Word size;
  std::int64_t base, stride;
  Word messages, bytes;  // to each other member
  Word reduced;          // bytes of contributions to sums that all get
};

struct Cell {
  Word messages, bytes;
};
// `crossed` and header.crossing are for who reads what the MPI itself counted, after the program.
enum Row : int { sent, collective, fetched, crossed, rows };

// Every field, in order. Texts follow. Where calls of several threads may overlap, `other_threads` are those that
// called beside the one that began, and `other_ticks` the sum of their times, each from its first call to the end of
// its last one.
// clang-format off: a table
// clang-format off: a table
#define KIVIAT_FIELDS(X)                                                                                               \
  X(magic) X(rank) X(ranks) X(stage) X(phase) X(inside) X(inside_since) X(first_ticks) X(first_ns) X(last_ticks)         \
  X(last_ns) X(started_s) X(counter) X(threads) X(socket) X(sockets) X(node) X(process) X(lost_slots) X(lost_groups)    \
  X(lost_persistent) X(unseen_sends) X(in_memory) X(interfaces) X(sent_before) X(received_before) X(sent_after)         \
  X(received_after) X(crossing) X(latest) X(resident) X(other_threads) X(other_ticks)
// clang-format on
// clang-format on

// Name and bytes of the texts behind them. The last two are equal on all ranks, as a rule: of a merged profile rank 0
// has them.
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
