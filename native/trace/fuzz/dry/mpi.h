// MPI without communication, for the fuzzer of the trace reader. It behaves as one of four ranks, and all calls succeed
// at once. It asserts that callers pass valid arguments: existing handles, non-negative counts, buffers, ranks of the
// communicator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <type_traits>

namespace kiviat::dry {

template <int kind>
struct Handle {
  long number = 0;
  friend bool operator==(const Handle&, const Handle&) = default;
};

inline long made = 100;  // number of the newest handle
inline std::map<long, long> type_bytes;

inline void owe(bool kept) {
  if (!kept) std::abort();
}

}  // namespace kiviat::dry

using MPI_Comm = kiviat::dry::Handle<0>;
using MPI_Win = kiviat::dry::Handle<1>;
using MPI_Request = kiviat::dry::Handle<2>;
using MPI_Datatype = kiviat::dry::Handle<3>;
using MPI_Op = kiviat::dry::Handle<4>;
using MPI_Group = kiviat::dry::Handle<5>;
using MPI_Info = kiviat::dry::Handle<6>;
using MPI_Aint = std::ptrdiff_t;
struct MPI_Status {};

inline constexpr MPI_Comm MPI_COMM_NULL{}, MPI_COMM_WORLD{1}, MPI_COMM_SELF{2};
inline constexpr MPI_Win MPI_WIN_NULL{};
inline constexpr MPI_Request MPI_REQUEST_NULL{};
inline constexpr MPI_Datatype MPI_DATATYPE_NULL{}, MPI_BYTE{1}, MPI_C_DOUBLE_COMPLEX{2};
inline constexpr MPI_Op MPI_OP_NULL{}, MPI_REPLACE{1};
inline constexpr MPI_Info MPI_INFO_NULL{};
inline constexpr int MPI_PROC_NULL = -2, MPI_ANY_SOURCE = -1, MPI_ANY_TAG = -1, MPI_UNDEFINED = -32766;
inline constexpr int MPI_LOCK_EXCLUSIVE = 1, MPI_LOCK_SHARED = 2;
inline constexpr MPI_Status *MPI_STATUS_IGNORE = nullptr, *MPI_STATUSES_IGNORE = nullptr;

namespace kiviat::dry {

inline int ranks_of(MPI_Comm comm) { return comm == MPI_COMM_SELF ? 1 : 4; }

// Asserts that one argument is valid, and sets it if it is an output.
template <int kind>
void take(Handle<kind> given) {
  owe(given.number != 0 || kind == 6);
}
template <int kind>
void take(Handle<kind>* given) {
  owe(given != nullptr);
  if constexpr (kind != 2) take(*given);
}
inline void take(MPI_Request* given) { *given = {++made}; }
inline void take(const void*) {}
template <class T>
  requires std::is_arithmetic_v<T>
void take(T number) {
  owe(number >= -2);
}

template <class... Arguments>
int call(Arguments... arguments) {
  (take(arguments), ...);
  return 0;
}

}  // namespace kiviat::dry

inline int MPI_Comm_size(MPI_Comm comm, int* size) { return *size = kiviat::dry::ranks_of(comm), 0; }
inline int MPI_Comm_rank(MPI_Comm comm, int* rank) { return *rank = kiviat::dry::ranks_of(comm) > 1 ? 1 : 0, 0; }
inline int MPI_Comm_group(MPI_Comm, MPI_Group* group) { return *group = {++kiviat::dry::made}, 0; }
inline int MPI_Win_get_group(MPI_Win, MPI_Group* group) { return *group = {++kiviat::dry::made}, 0; }
inline int MPI_Group_incl(MPI_Group, int count, const int* members, MPI_Group* group) {
  for (int i = 0; i < count; ++i) kiviat::dry::owe(members[i] >= 0 && members[i] < 4);
  return *group = {++kiviat::dry::made}, 0;
}
inline int MPI_Comm_dup(MPI_Comm, MPI_Comm* made) { return *made = {++kiviat::dry::made}, 0; }
inline int MPI_Comm_split(MPI_Comm, int colour, int, MPI_Comm* made) {
  return *made = {colour == MPI_UNDEFINED ? 0 : ++kiviat::dry::made}, 0;
}
inline int MPI_Comm_create_group(MPI_Comm, MPI_Group, int, MPI_Comm* made) { return *made = {++kiviat::dry::made}, 0; }
inline int MPI_Win_create(void*, MPI_Aint size, int, MPI_Info, MPI_Comm, MPI_Win* made) {
  kiviat::dry::owe(size >= 0);
  return *made = {++kiviat::dry::made}, 0;
}
inline int MPI_Op_create(void (*)(void*, void*, int*, MPI_Datatype*), int, MPI_Op* made) {
  return *made = {++kiviat::dry::made}, 0;
}
inline int MPI_Type_contiguous(int count, MPI_Datatype, MPI_Datatype* made) {
  kiviat::dry::owe(count >= 0);
  kiviat::dry::type_bytes[++kiviat::dry::made] = count;
  return *made = {kiviat::dry::made}, 0;
}
inline int MPI_Type_size(MPI_Datatype type, int* size) {
  *size = type == MPI_BYTE               ? 1
          : type == MPI_C_DOUBLE_COMPLEX ? 16
                                         : static_cast<int>(kiviat::dry::type_bytes[type.number]);
  return 0;
}
inline int MPI_Iprobe(int, int, MPI_Comm, int* found, MPI_Status*) { return *found = 1, 0; }
inline int MPI_Wait(MPI_Request* request, MPI_Status*) { return kiviat::dry::owe(request->number != 0), 0; }
inline int MPI_Waitall(int count, MPI_Request* requests, MPI_Status*) {
  for (int i = 0; i < count; ++i) kiviat::dry::owe(requests[i].number != 0);
  return 0;
}
inline int MPI_Cancel(MPI_Request* request) { return kiviat::dry::owe(request->number != 0), 0; }

#define KIVIAT_DRY(name)                    \
  template <class... Arguments>             \
  int MPI_##name(Arguments... arguments) {  \
    return kiviat::dry::call(arguments...); \
  }
#define KIVIAT_DRY_BOTH(blocking, nonblocking) KIVIAT_DRY(blocking) KIVIAT_DRY(nonblocking)
KIVIAT_DRY(Send)
KIVIAT_DRY(Ssend) KIVIAT_DRY(Isend) KIVIAT_DRY(Issend) KIVIAT_DRY(Recv) KIVIAT_DRY(Irecv) KIVIAT_DRY(Sendrecv)
    KIVIAT_DRY(Barrier) KIVIAT_DRY_BOTH(Bcast, Ibcast) KIVIAT_DRY_BOTH(Gather, Igather)
        KIVIAT_DRY_BOTH(Gatherv, Igatherv) KIVIAT_DRY_BOTH(Scatter, Iscatter) KIVIAT_DRY_BOTH(Scatterv, Iscatterv)
            KIVIAT_DRY_BOTH(Reduce, Ireduce) KIVIAT_DRY_BOTH(Allgather, Iallgather)
                KIVIAT_DRY_BOTH(Allgatherv, Iallgatherv) KIVIAT_DRY_BOTH(Alltoall, Ialltoall)
                    KIVIAT_DRY_BOTH(Alltoallv, Ialltoallv) KIVIAT_DRY_BOTH(Allreduce, Iallreduce)
                        KIVIAT_DRY_BOTH(Scan, Iscan) KIVIAT_DRY_BOTH(Exscan, Iexscan)
                            KIVIAT_DRY_BOTH(Reduce_scatter, Ireduce_scatter)
                                KIVIAT_DRY_BOTH(Reduce_scatter_block, Ireduce_scatter_block) KIVIAT_DRY_BOTH(Put, Rput)
                                    KIVIAT_DRY_BOTH(Get, Rget) KIVIAT_DRY_BOTH(Accumulate, Raccumulate)
                                        KIVIAT_DRY_BOTH(Get_accumulate, Rget_accumulate) KIVIAT_DRY(Fetch_and_op)
                                            KIVIAT_DRY(Compare_and_swap) KIVIAT_DRY(Win_fence) KIVIAT_DRY(Win_complete)
                                                KIVIAT_DRY(Win_wait) KIVIAT_DRY(Win_lock_all) KIVIAT_DRY(Win_unlock_all)
                                                    KIVIAT_DRY(Win_flush_all) KIVIAT_DRY(Win_start) KIVIAT_DRY(Win_post)
                                                        KIVIAT_DRY(Win_lock) KIVIAT_DRY(Win_unlock)
                                                            KIVIAT_DRY(Win_flush) KIVIAT_DRY(Win_free)
                                                                KIVIAT_DRY(Comm_free) KIVIAT_DRY(Group_free)
                                                                    KIVIAT_DRY(Type_commit)
