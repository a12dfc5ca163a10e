#include <algorithm>
#include <utility>

#include "trace/event.hpp"

namespace kiviat::prof {

// Looks up the requests of a completion call before the MPI overwrites their handles. Several requests may have the
// same handle, because MPIs share one among sends that completed immediately; each occurrence gets another request.
void Event::collect(Requests requests, int count) {
  thread_->waiting.clear();
  statuses_ = count;
  for (int place = 0; place < count; ++place) {
    const Word chosen = recorder.pick(requests.key(place));
    if (chosen != none) want_ = want_ || recorder.requests[chosen].wild || recorder.requests[chosen].cancelling;
    thread_->waiting.push_back(chosen);
  }
}

// Records that collected requests are complete: those at `places`, or the first `count` if null. With `own_order` the
// i-th status belongs to the i-th completed request (MPI_Waitsome), else to the request at the same place
// (MPI_Waitall).
void Event::completed(const int* places, int count, bool own_order) {
  const auto number = [&](int at) {
    const auto place = static_cast<std::size_t>(places ? places[at] : at);  // may be out of range, see taken()
    return place < thread_->waiting.size() ? thread_->waiting[place] : none;
  };
  Word active = 0;
  for (int at = 0; at < count; ++at) {
    if (number(at) == none) continue;
    ++active;
    cancelled(number(at), own_order || !places ? at : places[at]);
    Request& request = recorder.requests[number(at)];
    recorder.duplicating -= std::exchange(request.duplicates, false);
  }
  if (active) {
    recorder.begin_event(Operation::wait);
    recorder.stream.number(active);
  }
  for (int at = 0; at < count; ++at) {
    if (number(at) == none) continue;
    recorder.stream.number(number(at));
    Request& request = recorder.requests[number(at)];
    resolve(request, own_order || !places ? at : places[at]);
    request.active = false;
    if (!request.persistent) recorder.release(number(at));
  }
}

void Event::resolve(const Request& request, int place) {
  if (!request.wild) return;
  Asked asked = request.asked;
  peer(asked, place);
  if (asked.peer >= 0) recorder.stream.patch(request.peer_at, trace::folded(asked.peer));
  if (asked.tag >= 0) recorder.stream.patch(request.tag_at, trace::folded(asked.tag));
}

// If the operation completed before it could be cancelled, the cancel event must not apply to it: patch its request to
// a number that was never used.
void Event::cancelled(Word number, int place) {
  Request& request = recorder.requests[number];
  if (!request.cancelling || !status_) return;
  int was = 0;
  KIVIAT_PMPI(Test_cancelled)(&status_[place], &was);
  if (!was) recorder.stream.patch(request.cancel_at, recorder.requests.size());
  request.cancelling = false;
}

// Returns the places of the collected requests whose handles the MPI has replaced, because they are complete.
std::vector<int> Event::replaced(Requests requests) const {
  std::vector<int> gone;
  for (int at = 0; at < static_cast<int>(thread_->waiting.size()); ++at)
    if (const Word number = thread_->waiting[static_cast<std::size_t>(at)];
        number != none && requests.key(at) != recorder.requests[number].key)
      gone.push_back(at);
  return gone;
}

// Returns the places of the completed requests: those whose handles the MPI has replaced, if their number agrees with
// `told`. `told` alone is not reliable, because MPICH 4.0 counts indices from 0 in mpi_f08. Handles of persistent
// requests are not replaced; then `told` is used.
std::vector<int> Event::taken(Requests requests, std::vector<int> told) const {
  std::vector<int> gone = replaced(requests);
  if (gone.size() != told.size() || std::ranges::is_permutation(gone, told)) return told;
  return gone;
}

void Event::release_ended(Requests requests) {
  for (const int place : replaced(requests)) recorder.release(thread_->waiting[static_cast<std::size_t>(place)]);
  leave();
}

bool Event::refuses_arguments(int error) {
  int of = MPI_ERR_UNKNOWN;
  KIVIAT_PMPI(Error_class)(error, &of);
  switch (of) {
    case MPI_ERR_ARG:
    case MPI_ERR_BUFFER:
    case MPI_ERR_COMM:
    case MPI_ERR_COUNT:
    case MPI_ERR_DIMS:
    case MPI_ERR_GROUP:
    case MPI_ERR_OP:
    case MPI_ERR_RANK:
    case MPI_ERR_REQUEST:
    case MPI_ERR_ROOT:
    case MPI_ERR_TAG:
    case MPI_ERR_TOPOLOGY:
    case MPI_ERR_TYPE:
    case MPI_ERR_WIN:
      return true;
    default:
      return false;
  }
}

// Ends a completion call; requests that it has not released can be picked by later calls.
void Event::leave() {
  for (const Word number : thread_->waiting)
    if (number != none && recorder.requests[number].picked) recorder.unpick(number);
  thread_->waiting.clear();
}

void Event::prepare(Requests requests) {
  if (call_ == Call::Start) return;
  collect(requests, 1);
  Word number = thread_->waiting[0];
  leave();
  if (call_ == Call::Cancel && number != none) {
    recorder.begin_event(Operation::cancel);
    recorder.requests[number].cancelling = true;
    recorder.requests[number].cancel_at = recorder.stream.later(number);
  } else if (call_ == Call::Request_free) {
    if (number != none) {
      recorder.begin_event(Operation::free_request);
      recorder.stream.number(number);
    } else {
      number = recorder.request_of(requests.key(0));
      if (number == none) return;
    }
    recorder.release(number);
  }
}

void Event::take(Requests requests) {
  if (call_ == Call::Start) take(Number{1}, requests);
}

void Event::take(Number count, Requests requests) {
  for (int place = 0; place < count.value; ++place) {
    const Word number = recorder.request_of(requests.key(place));
    if (number == none)
      recorder.unsupported(call_);  // persistent collectives, and requests whose start was not recorded
    else
      start(number);
  }
}

void Event::prepare(Requests requests, Status) { collect(requests, 1); }
void Event::prepare(Requests requests, Flag, Status) { collect(requests, 1); }
void Event::prepare(Number count, Requests requests, Status) { collect(requests, count.value); }
void Event::prepare(Number count, Requests requests, Flag, Status) { collect(requests, count.value); }
void Event::prepare(Number count, Requests requests, Flag, Flag, Status) { collect(requests, count.value); }

void Event::take(Requests, Status) { completed(nullptr, 1, false), leave(); }

void Event::take(Requests, Flag done, Status) {
  if (done.is_true())
    completed(nullptr, 1, false);
  else
    recorder.polled();
  leave();
}

void Event::take(Number count, Requests, Status) { completed(nullptr, count.value, false), leave(); }

// MPI_Testall (`flag`: all complete) and MPI_Waitany (`flag`: index of the completed one).
void Event::take(Number count, Requests requests, Flag flag, Status) {
  if (call_ == Call::Waitany) {
    if (flag.index() != values::nowhere) completed(taken(requests, {flag.index()}).data(), 1, true);
  } else if (flag.is_true()) {
    completed(nullptr, count.value, false);
  } else {
    recorder.polled();
  }
  leave();
}

// MPI_Testany (index, flag); MPI_Waitsome and MPI_Testsome (number of completed requests, their indices).
void Event::take(Number, Requests requests, Flag first, Flag second, Status) {
  if (call_ == Call::Testany) {
    if (!second.is_true())
      recorder.polled();
    else if (first.index() != values::nowhere)
      completed(taken(requests, {first.index()}).data(), 1, true);
  } else if (first.value() > 0) {
    std::vector<int> places(static_cast<std::size_t>(first.value()));
    for (int at = 0; at < first.value(); ++at) places[static_cast<std::size_t>(at)] = second.index(at);
    completed(taken(requests, places).data(), first.value(), true);
  } else if (first.value() == 0) {
    recorder.polled();
  }
  leave();
}

// Returns the status argument for the MPI: the recorder's own memory if the program ignores statuses but the recorder
// needs them to resolve wildcards or cancellations, else `given`.
void* Event::status_for(void* given) {
  if (!mine_ || !want_) return given;
  if (!is_ignored(given)) {
    status_ = static_cast<const MPI_Status*>(given);  // Fortran statuses have the same layout
    return given;
  }
  thread_->statuses.resize(static_cast<std::size_t>(std::max(1, statuses_)));
  status_ = thread_->statuses.data();
  return thread_->statuses.data();
}

}  // namespace kiviat::prof
