// Calls of several threads at once. The calls of a process are recorded as one stream, each where it ended. If events
// of other threads come between the beginning and the end of a blocking call, it is recorded as two events, which
// cannot block a replay in a way that did not block the program: a non-blocking call where it began, and its wait where
// it ended. The former is written as late as possible: before the first event of another thread.
#include <string_view>

#include "trace/event.hpp"

namespace kiviat::prof {
namespace {

// True if the call waits for the same call of other ranks or for their windows, and has no non-blocking form. If events
// of other threads come between, it cannot be replayed, neither where it began nor where it ended.
bool waits_for_calls(Call call) {
  const std::string_view name = names[static_cast<int>(call)];
  return name.starts_with("Comm_dup") || name.starts_with("Comm_idup") || name.starts_with("Comm_split") ||
         name.starts_with("Comm_create") || name.starts_with("Intercomm_") || name.starts_with("Cart_") ||
         name.starts_with("Graph_") || name.starts_with("Dist_graph_") || name.starts_with("Win_");
}

}  // namespace

bool blocks(Call call) {
  switch (call) {
    case Call::Send:
    case Call::Ssend:
    case Call::Rsend:
    case Call::Recv:
    case Call::Mrecv:
    case Call::Sendrecv:
    case Call::Sendrecv_replace:
    case Call::Barrier:
    case Call::Bcast:
    case Call::Gather:
    case Call::Gatherv:
    case Call::Scatter:
    case Call::Scatterv:
    case Call::Allgather:
    case Call::Allgatherv:
    case Call::Alltoall:
    case Call::Alltoallv:
    case Call::Alltoallw:
    case Call::Reduce:
    case Call::Allreduce:
    case Call::Reduce_scatter:
    case Call::Reduce_scatter_block:
    case Call::Scan:
    case Call::Exscan:
    case Call::Neighbor_allgather:
    case Call::Neighbor_allgatherv:
    case Call::Neighbor_alltoall:
    case Call::Neighbor_alltoallv:
    case Call::Neighbor_alltoallw:
      return true;
    default:
      return false;
  }
}

void Recorder::split_others() {
  if (splitting || inside.empty()) return;
  splitting = true;
  Thread* const writer = thread;
  for (Event* const call : inside) call->split(*writer);
  thread = writer;
  splitting = false;
}

void Event::split(const Thread& writer) {
  if (thread_ == &writer) return;
  if (!begin_) {
    if (waits_for_calls(call_)) refuse_crossed();
  } else if (!split_) {
    begin_apart();
  }
}

void Event::refuse_crossed() {
  if (recorder.header->crossed == 0) recorder.header->crossed = 1 + static_cast<Word>(call_);
}

void Event::begin_apart() {
  split_ = true;
  recorder.thread = thread_;
  begin_(*this);
}

// If calls of other threads began later and have not ended, this one began before them, too.
bool Event::ends_apart() {
  if (begin_ && !split_ && recorder.inside.back() != this) {
    recorder.splitting = true;
    for (Event* const call : recorder.inside) {
      if (call->begin_ && !call->split_) call->begin_apart();
      if (call == this) break;
    }
    recorder.thread = thread_;
    recorder.splitting = false;
  }
  if (!split_ || apart_.empty()) return split_;
  recorder.begin_event(Operation::wait);
  recorder.stream.number(apart_.size());
  for (const Word number : apart_) {
    recorder.stream.number(number);
    resolve(recorder.requests[number], 0);
    recorder.requests[number] = {};
    recorder.request_ids.give_back(number);
  }
  return true;
}

Word Event::add_apart(const Asked& asked) {
  const Word number = recorder.request_ids.take();
  if (number >= recorder.requests.size()) recorder.requests.resize(number + 1);
  recorder.requests[number] = {.asked = asked};
  apart_.push_back(number);
  return number;
}

void Event::begin(Buffer, Count count, Type type, Number to, Number tag, Comm comm) {
  const Operation operation = call_ == Call::Ssend ? Operation::issend : Operation::isend;
  start(add_apart(asked_for(operation, comm, count, type, to.value, tag.value)));
}

void Event::begin(Buffer, Count count, Type type, Number source, Number tag, Comm comm, Status) {
  start(add_apart(asked_for(Operation::irecv, comm, count, type, source.value, tag.value)));
}

void Event::begin(Buffer, Count count, Type type, Message, Status) {
  Asked asked = matched_.asked;
  asked.operation = Operation::irecv;
  asked.count = static_cast<Word>(count.value), asked.size = static_cast<Word>(type.size());
  start(add_apart(asked));
}

void Event::begin(Buffer there, Count count, Type type, Number to, Number tag, Buffer here, Count count_back,
                  Type type_back, Number source, Number tag_back, Comm comm, Status status) {
  begin(there, count, type, to, tag, comm);
  begin(here, count_back, type_back, source, tag_back, comm, status);
}

void Event::begin(Buffer buffer, Count count, Type type, Number to, Number tag, Number source, Number tag_back,
                  Comm comm, Status status) {
  begin(buffer, count, type, to, tag, buffer, count, type, source, tag_back, comm, status);
}

}  // namespace kiviat::prof
