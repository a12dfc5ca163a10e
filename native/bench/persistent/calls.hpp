// Persistent requests, and persistent collectives of MPI 4 (MPIX in Open MPI 4): set up once, outside the timed region,
// then started by MPI_Start and completed by MPI_Wait.
#pragma once

#include "measure/trial.hpp"
#include "support/optional_call.hpp"

namespace kiviat {

// A collective that `init(request)` sets up at its first call, when all ranks are known to have their buffers. That
// call belongs to the first check, or to the warm-up.
template <class Init>
class PersistentCollective {
 public:
  explicit PersistentCollective(Init init) : init_(init) {}
  ~PersistentCollective() {
    if (request_ != MPI_REQUEST_NULL) MPI_Request_free(&request_);
  }
  PersistentCollective(const PersistentCollective&) = delete;
  PersistentCollective& operator=(const PersistentCollective&) = delete;

  void operator()() {
    if (request_ == MPI_REQUEST_NULL) init_(&request_);
    MPI_Start(&request_);
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
  }

 private:
  Init init_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

// Times the collective that `init` sets up. Collective.
template <class Init>
void persistent_calls(Trial& t, Init init) {
  t.refuse_rotation("a persistent request");
  PersistentCollective once(init);
  t.per_call([&](std::int64_t) { once(); });
}

}  // namespace kiviat
