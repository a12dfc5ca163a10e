// Start of MPI by a session, beside MPI_Init (MPI 4.0, section 11.3). Headers of earlier standards do not declare it.
#pragma once

#include <vector>

#include "platform/mpi4.hpp"
#include "support/optional_call.hpp"

namespace kiviat {

#ifdef KIVIAT_HAS_MPI4

class MpiSession {
 public:
  void begin() { init_(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session_); }
  // Creates a communicator of these ranks of MPI_COMM_WORLD. Collective over them.
  MPI_Comm communicator(const std::vector<int>& ranks) {
    MPI_Group world, members;
    MPI_Comm comm;
    group_(session_, "mpi://WORLD", &world);
    MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &members);
    create_(members, "kiviat", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&members);
    MPI_Group_free(&world);
    return comm;
  }
  void end() { finalize_(&session_); }

 private:
  decltype(MPI_Session_init)* init_ = optional_call<decltype(MPI_Session_init)>("Session_init", "4.0");
  decltype(MPI_Session_finalize)* finalize_ = optional_call<decltype(MPI_Session_finalize)>("Session_finalize", "4.0");
  decltype(MPI_Group_from_session_pset)* group_ =
      optional_call<decltype(MPI_Group_from_session_pset)>("Group_from_session_pset", "4.0");
  decltype(MPI_Comm_create_from_group)* create_ =
      optional_call<decltype(MPI_Comm_create_from_group)>("Comm_create_from_group", "4.0");
  MPI_Session session_ = MPI_SESSION_NULL;
};

#else

class MpiSession {
 public:
  MpiSession() { throw Skip("this MPI has no MPI_Session_init (of MPI 4.0)"); }
  void begin() {}
  MPI_Comm communicator(const std::vector<int>&) { return MPI_COMM_NULL; }
  void end() {}
};

#endif

}  // namespace kiviat
