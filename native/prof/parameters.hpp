// Types of each parameter kind of calls.hpp: in C, in C with large counts (MPI 4), in Fortran, and in the event.
#pragma once

#include <mpi.h>

#include "platform/mpi4.hpp"
#include "prof/handles.hpp"
// The Event class: prof/event.hpp (profiler) or trace/event.hpp (recorder).
#include KIVIAT_EVENT

// Describes a call that has returned. Most calls describe nothing in either case, so these are no two branches.
#define KIVIAT_ENDED(outcome, after, ...) \
  if (outcome == MPI_SUCCESS) {           \
    KIVIAT_AFTER(after, __VA_ARGS__);     \
  }                                       \
  if (outcome != MPI_SUCCESS) {           \
    KIVIAT_FAILED(outcome, __VA_ARGS__);  \
  }

namespace kiviat::prof {

using c_in = const void*;
using c_out = void*;
using c_type = MPI_Datatype;
using c_types = const MPI_Datatype*;
using c_number = int;
using c_numbers = const int*;
using c_comm = MPI_Comm;
using c_new_comm = MPI_Comm*;
using c_win = MPI_Win;
using c_new_win = MPI_Win*;
using c_op = MPI_Op;
using c_info = MPI_Info;
using c_group = MPI_Group;
using c_request = MPI_Request*;
using c_message = MPI_Message*;
using c_status = MPI_Status*;
using c_flag = int*;
using c_address = MPI_Aint;
using c_addresses = const MPI_Aint*;
using c_extent = MPI_Aint;
using c_file = MPI_File;
using c_new_file = MPI_File*;
using c_offset = MPI_Offset;
using c_text = const char*;
using c_texts = char**;
using c_texts_of_each = char***;
using c_infos = const MPI_Info*;
using c_handle = MPI_Request;  // of a call that does not change it
using c_total = MPI_Count;
#ifdef KIVIAT_HAS_MPI4
using c_new_session = MPI_Session*;
using c_session = MPI_Session;
using c_new_group = MPI_Group*;
using c_errhandler = MPI_Errhandler;
// The list of MPI_Pready_list: const in MPI 4, but not in MPICH 4.0.
template <class Call>
struct SecondOf;
template <class First, class Second, class Third>
struct SecondOf<int(First, Second, Third)> {
  using type = Second;
};
using c_partitions = SecondOf<decltype(MPI_Pready_list)>::type;
#endif

namespace plain {
using c_count = int;
using c_counts = const int*;
using c_displacements = const int*;
using c_unit = int;
}  // namespace plain
namespace large {
#if MPI_VERSION >= 4
using c_count = MPI_Count;
using c_counts = const MPI_Count*;
using c_displacements = const MPI_Aint*;
using c_unit = MPI_Aint;
#endif
}  // namespace large

// Fortran hands over addresses; handles are numbers, also those of mpi_f08, whose types have one member.
using f_in = const void*;
using f_out = void*;
using f_count = const MPI_Fint*;
using f_counts = const MPI_Fint*;
using f_displacements = const MPI_Fint*;
using f_type = const MPI_Fint*;
using f_types = const MPI_Fint*;
using f_number = const MPI_Fint*;
using f_numbers = const MPI_Fint*;
using f_comm = const MPI_Fint*;
using f_new_comm = MPI_Fint*;
using f_win = const MPI_Fint*;
using f_new_win = MPI_Fint*;
using f_op = const MPI_Fint*;
using f_info = const MPI_Fint*;
using f_group = const MPI_Fint*;
using f_request = MPI_Fint*;
using f_message = MPI_Fint*;
using f_status = void*;
using f_flag = MPI_Fint*;
using f_address = const MPI_Aint*;
using f_addresses = const MPI_Aint*;
using f_extent = const MPI_Aint*;
using f_unit = const MPI_Fint*;
using f_file = const MPI_Fint*;
using f_new_file = MPI_Fint*;
using f_offset = const MPI_Offset*;
using f_handle = MPI_Fint*;
using f_total = const MPI_Count*;
using f_partitions = const MPI_Fint*;

struct Unneeded {};

// `described` says whether buffers are descriptors.
struct Fortran {
  bool described;
  FortranBuffer in(f_in at) const { return {at, described}; }
  FortranBuffer out(f_out at) const { return {at, described}; }
  static int count(f_count at) { return *at; }
  static const MPI_Fint* counts(f_counts at) { return at; }
  static FortranType type(f_type at) { return {*at}; }
  static FortranTypes types(f_types at) { return {at}; }
  static int number(f_number at) { return *at; }
  static FortranComm comm(f_comm at) { return {*at}; }
  static FortranWin win(f_win at) { return {*at}; }
  static FortranRequests request(f_request at) { return {at}; }
  static FortranStatus status(f_status at) { return {at}; }
  static Unneeded displacements(f_displacements) { return {}; }
  static Unneeded numbers(f_numbers) { return {}; }
  static FortranNewComm new_comm(f_new_comm at) { return {at}; }
  static FortranNewWin new_win(f_new_win at) { return {at}; }
  static FortranOp op(f_op at) { return {*at}; }
  static Unneeded info(f_info) { return {}; }
  static FortranGroup group(f_group at) { return {*at}; }
  static FortranMessage message(f_message at) { return {at}; }
  static FortranFlag flag(f_flag at) { return {at}; }
  static Unneeded address(f_address) { return {}; }
  static Unneeded addresses(f_addresses) { return {}; }
  static MPI_Aint extent(f_extent at) { return *at; }
  static int unit(f_unit at) { return *at; }
  static FortranFile file(f_file) { return {}; }
  static FortranFile new_file(f_new_file) { return {}; }
  static Unneeded offset(f_offset) { return {}; }
  static FortranRequests handle(f_handle at) { return {at}; }
  static MPI_Count total(f_total at) { return *at; }
  static Unneeded partitions(f_partitions) { return {}; }
};

}  // namespace kiviat::prof
