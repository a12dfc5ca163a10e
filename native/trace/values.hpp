// Parameters of MPI calls as the recorder sees them, the same for C and Fortran. Each parameter kind of calls.hpp has
// its own type, so overload resolution selects one recording function for all calls with equal parameter lists
// (event.hpp).
#pragma once

#include <mpi.h>

#include <cstdint>

#include "prof/handles.hpp"

namespace kiviat::prof::values {

struct Buffer {
  bool in_place;
};
struct Count {
  std::int64_t value;
};
struct Number {
  int value;
};
struct Extent {
  std::int64_t value;
};
// An array of counts: MPI_Count if `wide`, else int.
struct Counts {
  const void* at;
  bool wide;
  std::int64_t operator[](int place) const {
    return wide ? static_cast<const std::int64_t*>(at)[place] : static_cast<const int*>(at)[place];
  }
};
struct Type {
  MPI_Datatype value;
  std::int64_t size() const {
    MPI_Count bytes = 0;
    KIVIAT_PMPI(Type_size_x)(value, &bytes);
    return bytes > 0 ? bytes : 0;
  }
};
struct Types {
  const MPI_Datatype* c;
  FortranTypes fortran;
  Type operator[](int place) const { return {c ? type_at(c, place) : type_at(fortran, place)}; }
};
struct Comm {
  MPI_Comm value;
};
struct Win {
  MPI_Win value;
};
struct Group {
  MPI_Group value;
};
struct Op {
  MPI_Op value;
  bool commutes() const {
    int does = 1;
    KIVIAT_PMPI(Op_commutative)(value, &does);
    return does != 0;
  }
};
struct File {};
struct NewComm {
  const MPI_Comm* c;
  FortranNewComm fortran;
  MPI_Comm value() const { return c ? *c : in_c(FortranComm{*fortran.at}); }
};
struct NewWin {
  const MPI_Win* c;
  FortranNewWin fortran;
  MPI_Win value() const { return c ? *c : window_in_c(FortranWin{*fortran.at}); }
};
struct Requests {
  const MPI_Request* c = nullptr;
  FortranRequests fortran = {nullptr};
  bool there() const { return c || fortran.values; }
  std::uint64_t key(int place) const { return c ? request_key(c, place) : request_key(fortran, place); }
};
struct Message {
  std::uint64_t key;
};
// An output flag, a count or an array of indices. Fortran indices start at 1.
struct Flag {
  const int* at;
  bool fortran;
  bool is_true() const { return *at != 0; }
  int value() const { return *at; }
  int index(int place = 0) const;
};
inline constexpr int nowhere = -100;
inline int Flag::index(int place) const { return at[place] == MPI_UNDEFINED ? nowhere : at[place] - fortran; }
struct Status {};
struct Ignored {};

inline Buffer in(const void* at) { return {is_in_place(at)}; }
inline Buffer in(FortranBuffer at) { return {is_in_place(at)}; }
inline Buffer out(const void* at) { return {is_in_place(at)}; }
inline Buffer out(FortranBuffer at) { return {is_in_place(at)}; }
inline Count count(std::int64_t value) { return {value}; }
inline Counts counts(const int* at) { return {at, false}; }
#if MPI_VERSION >= 3
inline Counts counts(const MPI_Count* at) { return {at, true}; }
static_assert(sizeof(MPI_Count) == sizeof(std::int64_t));
#endif
inline Type type(MPI_Datatype type) { return {type}; }
inline Type type(FortranType type) { return {type_in_c(type)}; }
inline Types types(const MPI_Datatype* types) { return {types, {nullptr}}; }
inline Types types(FortranTypes types) { return {nullptr, types}; }
inline Number number(int value) { return {value}; }
inline Comm comm(MPI_Comm comm) { return {comm}; }
inline Comm comm(FortranComm comm) { return {in_c(comm)}; }
inline NewComm new_comm(const MPI_Comm* comm) { return {comm, {nullptr}}; }
inline NewComm new_comm(FortranNewComm comm) { return {nullptr, comm}; }
inline Win win(MPI_Win win) { return {win}; }
inline Win win(FortranWin win) { return {window_in_c(win)}; }
inline NewWin new_win(const MPI_Win* win) { return {win, {nullptr}}; }
inline NewWin new_win(FortranNewWin win) { return {nullptr, win}; }
inline Op op(MPI_Op op) { return {op}; }
inline Op op(FortranOp op) { return {op_in_c(op)}; }
inline Group group(MPI_Group group) { return {group}; }
inline Group group(FortranGroup group) { return {KIVIAT_FROM_FORTRAN(Group, group.value)}; }
inline Requests request(const MPI_Request* requests) { return {requests, {nullptr}}; }
inline Requests request(FortranRequests requests) { return {nullptr, requests}; }
inline Message message(const MPI_Message* message) { return {key_of(*message)}; }
inline Message message(FortranMessage message) { return {key_of(KIVIAT_FROM_FORTRAN(Message, *message.at))}; }
inline Flag flag(const int* at) { return {at, false}; }
inline Flag flag(FortranFlag flag) { return {flag.at, true}; }
template <class Any>
File file(Any) {
  return {};
}
template <class Any>
File new_file(Any) {
  return {};
}
template <class Any>
Ignored offset(Any) {
  return {};
}
template <class Any>
Ignored text(Any) {
  return {};
}
// Values of calls that are not recorded.
template <class Any>
Ignored texts(Any) {
  return {};
}
template <class Any>
Ignored texts_of_each(Any) {
  return {};
}
template <class Any>
Ignored infos(Any) {
  return {};
}
template <class Any>
Ignored handle(Any) {
  return {};
}
template <class Any>
Ignored total(Any) {
  return {};
}
template <class Any>
Ignored session(Any) {
  return {};
}
template <class Any>
Ignored new_session(Any) {
  return {};
}
template <class Any>
Ignored new_group(Any) {
  return {};
}
template <class Any>
Ignored errhandler(Any) {
  return {};
}
template <class Any>
Ignored partitions(Any) {
  return {};
}
inline Extent extent(MPI_Aint bytes) { return {bytes}; }
inline Extent unit(MPI_Aint bytes) { return {bytes}; }
template <class Any>
Status status(Any) {
  return {};
}
template <class Any>
Ignored displacements(Any) {
  return {};
}
template <class Any>
Ignored numbers(Any) {
  return {};
}
template <class Any>
Ignored info(Any) {
  return {};
}
template <class Any>
Ignored address(Any) {
  return {};
}
template <class Any>
Ignored addresses(Any) {
  return {};
}

}  // namespace kiviat::prof::values
