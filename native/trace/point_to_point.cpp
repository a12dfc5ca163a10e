#include "trace/event.hpp"

namespace kiviat::prof {
namespace {

std::int64_t told_rank(int rank) {
  return rank == MPI_PROC_NULL ? trace::nobody : rank == MPI_ANY_SOURCE ? trace::any : rank;
}
std::int64_t told_tag(int tag) { return tag == MPI_ANY_TAG ? trace::any : tag; }

Operation of(Call call) {
  switch (call) {
    case Call::Ssend:
      return Operation::ssend;
    case Call::Bsend:
      return Operation::bsend;
    case Call::Issend:
    case Call::Ssend_init:
      return Operation::issend;
    case Call::Irecv:
    case Call::Recv_init:
      return Operation::irecv;
    // MPI_Ibsend completes locally; it is replayed as MPI_Isend.
    case Call::Isend:
    case Call::Ibsend:
    case Call::Irsend:
    case Call::Send_init:
    case Call::Bsend_init:
    case Call::Rsend_init:
      return Operation::isend;
    default:
      return Operation::send;
  }
}

bool is_persistent(Call call) {
  return call == Call::Send_init || call == Call::Bsend_init || call == Call::Ssend_init || call == Call::Rsend_init ||
         call == Call::Recv_init;
}

}  // namespace

Asked Event::asked_for(Operation operation, Comm comm, Count count, Type type, int peer, int tag) {
  const KnownComm* const known = recorder.comm(comm.value);
  return {operation,
          known ? known->id : trace::unseen,
          static_cast<Word>(count.value),
          static_cast<Word>(type.size()),
          peer,
          tag};
}

void Event::message(Operation operation, const Asked& asked, std::int64_t sent_bytes) {
  recorder.begin_event(operation);
  trace::Stream& stream = recorder.stream;
  stream.number(asked.comm);
  stream.signed_number(told_rank(asked.peer)), stream.signed_number(told_tag(asked.tag));
  stream.number(asked.count), stream.number(asked.size);
  if (asked.peer != MPI_PROC_NULL)
    recorder.header->counted[static_cast<int>(operation)].bytes += static_cast<Word>(sent_bytes);
}

void Event::want_who(Number source, Number tag) {
  want_ = want_ || source.value == MPI_ANY_SOURCE || tag.value == MPI_ANY_TAG;
}

// Replaces wildcards in `asked` by the source and tag of the status.
void Event::peer(Asked& asked, int place) const {
  if (!want_ || !status_) return;
  if (asked.peer == MPI_ANY_SOURCE) asked.peer = status_[place].MPI_SOURCE;
  if (asked.tag == MPI_ANY_TAG) asked.tag = status_[place].MPI_TAG;
}

void Event::prepare(Buffer, Count, Type, Number source, Number tag, Comm, Status) { want_who(source, tag); }
void Event::prepare(Buffer, Count, Type, Number, Number, Buffer, Count, Type, Number source, Number tag, Comm, Status) {
  want_who(source, tag);
}
void Event::prepare(Buffer, Count, Type, Number, Number, Number source, Number tag, Comm, Status) {
  want_who(source, tag);
}
void Event::prepare(Number source, Number tag, Comm, Status) { want_who(source, tag); }
void Event::prepare(Number source, Number tag, Comm, Flag, Status) { want_who(source, tag); }
void Event::prepare(Number source, Number tag, Comm, Message, Status) { want_who(source, tag); }
void Event::prepare(Number source, Number tag, Comm, Flag, Message, Status) { want_who(source, tag); }

void Event::take(Buffer, Count count, Type type, Number to, Number tag, Comm comm) {
  const Asked asked = asked_for(of(call_), comm, count, type, to.value, tag.value);
  message(asked.operation, asked, count.value * static_cast<std::int64_t>(asked.size));
}

void Event::take(Buffer, Count count, Type type, Number peer, Number tag, Comm comm, Requests requests) {
  const Asked asked = asked_for(of(call_), comm, count, type, peer.value, tag.value);
  const Word number = recorder.add_request(requests.key(0), asked);
  recorder.requests[number].persistent = is_persistent(call_);
  if (!is_persistent(call_)) start(number);
}

// Writes the event of a non-blocking or persistent operation and activates its request.
void Event::start(Word number) {
  recorder.requests[number].active = true;
  // A copy, because begin_event() may add requests of other threads' calls, which moves all requests in memory.
  const Asked asked = recorder.requests[number].asked;
  if (asked.operation != Operation::irecv) {
    message(asked.operation, asked, static_cast<std::int64_t>(asked.count * asked.size));
  } else {
    recorder.begin_event(asked.operation);
    trace::Stream& stream = recorder.stream;
    stream.number(asked.comm);
    Request& request = recorder.requests[number];
    request.wild = asked.peer == MPI_ANY_SOURCE || asked.tag == MPI_ANY_TAG;
    if (request.wild) {
      request.peer_at = stream.later(trace::folded(told_rank(asked.peer)));
      request.tag_at = stream.later(trace::folded(told_tag(asked.tag)));
    } else {
      stream.signed_number(told_rank(asked.peer)), stream.signed_number(told_tag(asked.tag));
    }
    stream.number(asked.count), stream.number(asked.size);
  }
  recorder.stream.number(number);
}

void Event::take(Buffer, Count count, Type type, Number source, Number tag, Comm comm, Status) {
  Asked asked = asked_for(Operation::recv, comm, count, type, source.value, tag.value);
  peer(asked, 0);
  message(Operation::recv, asked, 0);
}

void Event::take(Buffer, Count count, Type type, Number to, Number tag, Buffer, Count count_back, Type type_back,
                 Number source, Number tag_back, Comm comm, Status) {
  const Asked there = asked_for(Operation::sendrecv, comm, count, type, to.value, tag.value);
  Asked back = asked_for(Operation::sendrecv, comm, count_back, type_back, source.value, tag_back.value);
  peer(back, 0);
  message(Operation::sendrecv, there, static_cast<std::int64_t>(there.count * there.size));
  trace::Stream& stream = recorder.stream;
  stream.signed_number(told_rank(back.peer)), stream.signed_number(told_tag(back.tag));
  stream.number(back.count), stream.number(back.size);
}

void Event::take(Buffer buffer, Count count, Type type, Number to, Number tag, Number source, Number tag_back,
                 Comm comm, Status status) {
  take(buffer, count, type, to, tag, buffer, count, type, source, tag_back, comm, status);
}

void Event::take(Number source, Number tag, Comm comm, Status) {
  Asked asked{Operation::probe, 0, 0, 0, source.value, tag.value};
  peer(asked, 0);
  if (!on(Operation::probe, comm)) return;
  recorder.stream.signed_number(told_rank(asked.peer)), recorder.stream.signed_number(told_tag(asked.tag));
}

void Event::take(Number source, Number tag, Comm comm, Flag found, Status status) {
  if (found.is_true())
    take(source, tag, comm, status);
  else
    recorder.polled();
}

// The receive of the matched message follows later, with source and tag of this probe.
void Event::take(Number source, Number tag, Comm comm, Message message, Status status) {
  Asked asked = asked_for(Operation::recv, comm, {0}, {byte()}, source.value, tag.value);
  peer(asked, 0);
  take(source, tag, comm, status);
  match(message, asked);
}

void Event::take(Number source, Number tag, Comm comm, Flag found, Message message, Status status) {
  if (found.is_true())
    take(source, tag, comm, message, status);
  else
    recorder.polled();
}

void Event::prepare(Buffer, Count, Type, Message message, Status) { matched(message); }
void Event::prepare(Buffer, Count, Type, Message message, Requests) { matched(message); }

// Messages from MPI_PROC_NULL share the handle MPI_MESSAGE_NO_PROC and need no number.
void Event::match(Message message, const Asked& asked) {
  if (asked.peer == MPI_PROC_NULL) return;
  const Word number = recorder.message_ids.take();
  recorder.messages[message.key] = {asked, number};
  if (!recorder.stamps) return;
  recorder.begin_event(Operation::matched);
  recorder.stream.number(number);
}

void Event::matched(Message message) {
  const auto found = recorder.messages.find(message.key);
  if (found == recorder.messages.end()) return;
  matched_ = found->second;
  recorder.messages.erase(found);
  recorder.message_ids.give_back(matched_.number);
}

// Links the receive to its matching probe: messages leave the queue in the order of probes, not of receives.
void Event::tell_matched() {
  if (!recorder.stamps || matched_.number == none) return;
  recorder.begin_event(Operation::matched);
  recorder.stream.number(matched_.number);
}

void Event::take(Buffer, Count count, Type type, Message, Status) {
  tell_matched();
  Asked& asked = matched_.asked;
  asked.count = static_cast<Word>(count.value), asked.size = static_cast<Word>(type.size());
  message(Operation::recv, asked, 0);
}

void Event::take(Buffer, Count count, Type type, Message, Requests requests) {
  tell_matched();
  Asked& asked = matched_.asked;
  asked.count = static_cast<Word>(count.value), asked.size = static_cast<Word>(type.size());
  asked.operation = Operation::irecv;
  start(recorder.add_request(requests.key(0), asked));
}

}  // namespace kiviat::prof
