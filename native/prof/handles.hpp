// Fortran handles and addresses, converted to C only when needed.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <type_traits>

#include "prof/real.hpp"

namespace kiviat::prof {

struct FortranComm {
  MPI_Fint value;
};
struct FortranNewComm {
  const MPI_Fint* at;
};
struct FortranType {
  MPI_Fint value;
};
struct FortranTypes {
  const MPI_Fint* values;
};
struct FortranWin {
  MPI_Fint value;
};
struct FortranNewWin {
  const MPI_Fint* at;
};
struct FortranOp {
  MPI_Fint value;
};
struct FortranGroup {
  MPI_Fint value;
};
struct FortranMessage {
  const MPI_Fint* at;
};
struct FortranRequests {
  const MPI_Fint* values;
};
// A Fortran logical; the next type is an index, which starts at 1.
struct FortranFlag {
  const MPI_Fint* at;
};
struct FortranStatus {
  const void* at;
};
struct FortranFile {};
// If `described`, `at` points to a TS 29113 array descriptor (mpi_f08), whose first member is the address.
struct FortranBuffer {
  const void* at;
  bool described;
};

inline MPI_Comm in_c(MPI_Comm comm) { return comm; }
inline MPI_Comm in_c(FortranComm comm) { return KIVIAT_FROM_FORTRAN(Comm, comm.value); }
inline MPI_Win window_in_c(MPI_Win win) { return win; }
inline MPI_Win window_in_c(FortranWin win) { return KIVIAT_FROM_FORTRAN(Win, win.value); }
inline MPI_Op op_in_c(MPI_Op op) { return op; }
inline MPI_Op op_in_c(FortranOp op) { return KIVIAT_FROM_FORTRAN(Op, op.value); }
inline MPI_Datatype type_in_c(MPI_Datatype type) { return type; }
inline MPI_Datatype type_in_c(FortranType type) { return KIVIAT_FROM_FORTRAN(Type, type.value); }
inline MPI_Datatype type_at(MPI_Datatype type, int) { return type; }
inline MPI_Datatype type_at(FortranType type, int) { return type_in_c(type); }
inline MPI_Datatype type_at(const MPI_Datatype* types, int at) { return types[at]; }
inline MPI_Datatype type_at(FortranTypes types, int at) { return type_in_c(FortranType{types.values[at]}); }

// Returns a handle's key for hash tables: handles are integers (MPICH) or pointers (Open MPI).
template <class Handle>
std::uintptr_t key_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<std::uintptr_t>(handle);
  else
    return static_cast<std::uintptr_t>(static_cast<std::uint32_t>(handle));
}

// Returns a request's key, which is the same in C and Fortran: a request may begin in one and end in the other.
inline std::uint64_t request_key(const MPI_Request* requests, int at) { return key_of(requests[at]); }
inline std::uint64_t request_key(FortranRequests requests, int at) {
  return key_of(KIVIAT_FROM_FORTRAN(Request, requests.values[at]));
}

// Returns the key of a matched message, which differs from those of requests: some MPIs number both from 1.
inline std::uint64_t message_key(std::uint64_t handle) { return handle | std::uint64_t{1} << 60; }
inline std::uint64_t message_key(const MPI_Message* message) { return message_key(key_of(*message)); }
inline std::uint64_t message_key(FortranMessage message) {
  return message_key(key_of(KIVIAT_FROM_FORTRAN(Message, *message.at)));
}

inline bool is_true(const int* flag) { return *flag != 0; }
inline bool is_true(FortranFlag flag) { return *flag.at != 0; }

bool is_in_place(const void* buffer);
bool is_in_place(FortranBuffer buffer);
// True for the addresses of MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE in C and Fortran.
bool is_ignored(const void* status);

}  // namespace kiviat::prof
