#include <numeric>

#include "trace/event.hpp"

namespace kiviat::prof {

std::vector<int> members_within(MPI_Group group, MPI_Group whole) {
  int size = 0;
  KIVIAT_PMPI(Group_size)(group, &size);
  std::vector<int> own(static_cast<std::size_t>(size)), found(own.size());
  std::iota(own.begin(), own.end(), 0);
  KIVIAT_PMPI(Group_translate_ranks)(group, size, own.data(), whole, found.data());
  KIVIAT_PMPI(Group_free)(&whole);
  return found;
}

// Encodes ranks as runs (first, step, length), since most groups are regular.
void Event::ranks(const std::vector<int>& members) {
  trace::Stream& stream = recorder.stream;
  stream.number(members.size());
  for (std::size_t at = 0; at < members.size();) {
    const int step = at + 1 < members.size() ? members[at + 1] - members[at] : 0;
    std::size_t next = at + 1;
    while (next < members.size() && members[next] - members[next - 1] == step) ++next;
    stream.number(static_cast<Word>(members[at])), stream.signed_number(step), stream.number(next - at);
    at = next;
  }
}

void Event::members(Word made, MPI_Comm of) {
  if (!recorder.stamps) return;
  MPI_Group group, whole;
  KIVIAT_PMPI(Comm_group)(of, &group);
  KIVIAT_PMPI(Comm_group)(world(), &whole);
  recorder.begin_event(Operation::members);
  recorder.stream.number(made);
  ranks(members_within(group, whole));
  KIVIAT_PMPI(Group_free)(&group);
}

void Event::take(Comm comm, Number colour, Number key, NewComm made) {
  if (between_groups(comm)) {
    if (made.value() != recorder.no_comm) pair(made.value());
    return;
  }
  if (!on(Operation::comm_split, comm)) return;
  recorder.stream.signed_number(colour.value == MPI_UNDEFINED ? trace::nobody : colour.value);
  recorder.stream.signed_number(key.value);
  if (made.value() == recorder.no_comm) return recorder.stream.number(0);
  const Word number = recorder.add_comm(made.value());
  recorder.stream.number(number);
  members(number, made.value());
}

void Event::derive(Comm parent, NewComm made, const Requests* requests) {
  const KnownComm* const known = recorder.comm(parent.value);
  if (!known) {
    if (recorder.stamps && call_ == Call::Intercomm_merge) recorder.unsupported(call_);
    return;
  }
  if (known->remote > 0 && requests) return recorder.unsupported(call_);
  if (call_ == Call::Intercomm_merge) return merge(made.value());
  if ((call_ == Call::Intercomm_create || known->remote > 0) && made.value() != recorder.no_comm) {
    pair(made.value());
    return;
  }
  if (call_ == Call::Comm_dup || call_ == Call::Comm_dup_with_info || requests) {
    on(Operation::comm_dup, parent);
    const Word number = recorder.add_comm(made.value(), known->size, known->rank);
    recorder.stream.number(number);
    members(number, parent.value);
    if (!requests) return;
    const Word request = recorder.add_active_request(requests->key(0));
    recorder.requests[request].duplicates = true, ++recorder.duplicating;
    if (!recorder.stamps) return;
    recorder.begin_event(Operation::ends);
    recorder.stream.number(request);
    return;
  }
  if (made.value() == recorder.no_comm) return;
  MPI_Group group, whole;
  KIVIAT_PMPI(Comm_group)(made.value(), &group);
  KIVIAT_PMPI(Comm_group)(parent.value, &whole);
  on(Operation::comm_create, parent);
  ranks(members_within(group, whole));
  KIVIAT_PMPI(Group_free)(&group);
  const Word number = recorder.add_comm(made.value());
  recorder.stream.number(number);
  members(number, made.value());
}

void Event::prepare(NewComm comm) {
  if (call_ != Call::Comm_free && call_ != Call::Comm_disconnect) return;
  if (!on(Operation::comm_free, Comm{comm.value()})) return;
  if (const KnownComm* const known = between_groups({comm.value()})) within(Operation::comm_free, *known);
  recorder.remove_comm(comm.value());
}

}  // namespace kiviat::prof
