// Communicators between two groups. SMPI has none: their messages are replayed on a communicator of both groups, and
// their collectives are recorded as the messages and collectives that MPICH and Open MPI make of them. Blocking ones of
// all ranks work within each group, and the first ranks exchange the results; gather, scatter, all-to-all and all
// non-blocking ones send directly.
#include <algorithm>
#include <numeric>

#include "trace/event.hpp"

namespace kiviat::prof {
namespace {

constexpr int leaders_tag = 7723;  // unlikely to be used by programs

std::vector<int> all_of(int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

bool is_between_groups(MPI_Comm comm) {
  int is = 0;
  KIVIAT_PMPI(Comm_test_inter)(comm, &is);
  return is != 0;
}

std::vector<int> ranks_in_world(MPI_Group group) {
  MPI_Group whole;
  KIVIAT_PMPI(Comm_group)(world(), &whole);
  std::vector<int> found = members_within(group, whole);
  KIVIAT_PMPI(Group_free)(&group);
  return found;
}

}  // namespace

const KnownComm* Event::between_groups(Comm comm) {
  const auto found = recorder.comms.find(key_of(comm.value));
  return found != recorder.comms.end() && found->second.remote > 0 ? &found->second : nullptr;
}

bool Event::pair(MPI_Comm made) {
  if (!is_between_groups(made)) return false;
  MPI_Group here, there;
  KIVIAT_PMPI(Comm_group)(made, &here);
  KIVIAT_PMPI(Comm_remote_group)(made, &there);
  const std::vector<int> own = ranks_in_world(here), others = ranks_in_world(there);
  if (recorder.stamps || std::ranges::find(others, MPI_UNDEFINED) != others.end())
    return recorder.unsupported(call_), true;
  const Word number = recorder.add_comm(made), within = recorder.comm_ids.take();
  KnownComm& known = recorder.comms[key_of(made)];
  known.remote = static_cast<int>(others.size()), known.within = within;
  recorder.begin_event(Operation::intercomm);
  ranks(own), ranks(others);
  recorder.stream.number(number), recorder.stream.number(within);
  return true;
}

void Event::merge(MPI_Comm made) {
  MPI_Group group;
  KIVIAT_PMPI(Comm_group)(made, &group);
  if (recorder.stamps) return recorder.unsupported(call_);
  recorder.begin_event(Operation::comm_create);
  recorder.stream.number(trace::world);
  ranks(ranks_in_world(group));
  recorder.stream.number(recorder.add_comm(made));
}

void Event::to_leader(const KnownComm& known, int leader, Word bytes) {
  message(Operation::send, {Operation::send, known.id, bytes, 1, leader, leaders_tag},
          static_cast<std::int64_t>(bytes));
}

void Event::from_leader(const KnownComm& known, int leader, Word bytes) {
  message(Operation::recv, {Operation::recv, known.id, bytes, 1, leader, leaders_tag}, 0);
}

void Event::leaders_swap(const KnownComm& known, Word out, Word in) {
  if (known.rank != 0) return;
  message(Operation::sendrecv, {Operation::sendrecv, known.id, out, 1, 0, leaders_tag}, static_cast<std::int64_t>(out));
  recorder.stream.signed_number(0), recorder.stream.signed_number(leaders_tag);
  recorder.stream.number(in), recorder.stream.number(1);
}

void Event::within(Operation operation, const KnownComm& known) {
  recorder.begin_event(operation);
  recorder.stream.number(known.within);
}

void Event::within(Operation operation, const KnownComm& known, Word count, Word size) {
  within(operation, known);
  recorder.stream.number(0);  // the root
  recorder.stream.number(count), recorder.stream.number(size);
  recorder.add_bytes(count * size);
  if (operation != Operation::reduce) recorder.stream.number(0);
}

void Event::reduce_within(const KnownComm& known, Word count, Word size, Op op) {
  within(Operation::reduce, known, count, size);
  recorder.stream.number(op.commutes()), recorder.stream.number(0);
}

// The root exchanges a part with each rank of the other group: `each`, of this rank `own` bytes.
void Event::with_root(Comm comm, int root, bool to_root, const Parts& each, std::int64_t own, Requests requests) {
  std::vector<int> others;
  Parts parts = {.same = own};
  if (root == MPI_ROOT) {
    others = all_of(between_groups(comm)->remote);
    parts = each;
  } else if (root != MPI_PROC_NULL) {
    others = {root};
  } else if (!requests.there()) {
    return;
  }
  const bool sends = to_root != (root == MPI_ROOT);
  lists(comm, sends ? others : std::vector<int>{}, parts, sends ? std::vector<int>{} : others, parts, requests);
}

void Event::with_all(Comm comm, const Parts& out, const Parts& in, Requests requests) {
  const std::vector<int> others = all_of(between_groups(comm)->remote);
  lists(comm, others, out, others, in, requests);
}

void Event::barrier_between(Comm comm, Requests requests) {
  const KnownComm& known = *between_groups(comm);
  if (requests.there()) return with_all(comm, {.same = 1}, {.same = 1}, requests);
  within(Operation::barrier, known), recorder.stream.number(0);
  leaders_swap(known, 1, 1);
  within(Operation::bcast, known, 1, 1);
}

void Event::bcast_between(Comm comm, Count count, Type type, int root, Requests requests) {
  const KnownComm& known = *between_groups(comm);
  // A rank of the root's group passes MPI_PROC_NULL, and its other arguments mean nothing.
  const Word bytes = root == MPI_PROC_NULL ? 0 : static_cast<Word>(count.value * type.size());
  const auto whole = static_cast<std::int64_t>(bytes);
  if (requests.there()) return with_root(comm, root, false, {.same = whole}, whole, requests);
  if (root == MPI_ROOT) return to_leader(known, 0, bytes);
  if (root == MPI_PROC_NULL) return;
  if (known.rank == 0) from_leader(known, root, bytes);
  within(Operation::bcast, known, bytes, 1);
}

void Event::reduce_between(Comm comm, Count count, Type type, Op op, int root, Requests requests) {
  const KnownComm& known = *between_groups(comm);
  const Word size = root == MPI_PROC_NULL ? 0 : static_cast<Word>(type.size());
  const Word bytes = size * static_cast<Word>(count.value);
  const auto whole = static_cast<std::int64_t>(bytes);
  if (requests.there()) return with_root(comm, root, true, {.same = whole}, whole, requests);
  if (root == MPI_ROOT) return from_leader(known, 0, bytes);
  if (root == MPI_PROC_NULL) return;
  reduce_within(known, static_cast<Word>(count.value), size, op);
  if (known.rank == 0) to_leader(known, root, bytes);
}

void Event::allreduce_between(Comm comm, Count count, Type type, Op op, Requests requests) {
  const KnownComm& known = *between_groups(comm);
  const auto number = static_cast<Word>(count.value), size = static_cast<Word>(type.size());
  const Parts all = {.same = static_cast<std::int64_t>(number * size)};
  if (requests.there()) return with_all(comm, all, all, requests);
  reduce_within(known, number, size, op);
  leaders_swap(known, number * size, number * size);
  within(Operation::bcast, known, number * size, 1);
}

void Event::allgather_between(Comm comm, std::int64_t out, std::int64_t in, Requests requests) {
  const KnownComm& known = *between_groups(comm);
  if (requests.there()) return with_all(comm, {.same = out}, {.same = in}, requests);
  const Word there = static_cast<Word>(in) * static_cast<Word>(known.remote);
  within(Operation::gather, known, static_cast<Word>(out), 1);
  leaders_swap(known, static_cast<Word>(out) * static_cast<Word>(known.size), there);
  within(Operation::bcast, known, there, 1);
}

// `counts` are those of this group; both groups reduce vectors of the same length.
void Event::reduce_scatter_between(Comm comm, const Counts* counts, Count each, Type type, Op op, Requests requests) {
  if (requests.there()) return recorder.unsupported(call_);
  const KnownComm& known = *between_groups(comm);
  const auto size = static_cast<Word>(type.size());
  Word whole = static_cast<Word>(each.value) * static_cast<Word>(known.size);
  for (int rank = 0; counts && rank < known.size; ++rank) whole += static_cast<Word>((*counts)[rank]);
  reduce_within(known, whole, size, op);
  leaders_swap(known, whole * size, whole * size);
  if (!counts) return within(Operation::scatter, known, static_cast<Word>(each.value), size);
  within(Operation::scatterv, known);
  recorder.stream.number(0), recorder.stream.number(static_cast<Word>((*counts)[known.rank]));
  recorder.stream.number(size);
  if (known.rank == 0) recorder.stream.number(size), array(*counts, known.size);
  recorder.stream.number(0);
}

}  // namespace kiviat::prof
