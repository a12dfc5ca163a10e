#include "prof/neighbours.hpp"
#include "trace/event.hpp"

namespace kiviat::prof {
namespace {

Operation of(Call call) {
  switch (call) {
    case Call::Gather:
    case Call::Igather:
      return Operation::gather;
    case Call::Scatter:
    case Call::Iscatter:
      return Operation::scatter;
    case Call::Allgather:
    case Call::Iallgather:
      return Operation::allgather;
    case Call::Alltoall:
    case Call::Ialltoall:
      return Operation::alltoall;
    case Call::Scan:
    case Call::Iscan:
      return Operation::scan;
    case Call::Exscan:
    case Call::Iexscan:
      return Operation::exscan;
    case Call::Reduce_scatter_block:
    case Call::Ireduce_scatter_block:
      return Operation::reduce_scatter_block;
    default:
      return Operation::allreduce;
  }
}

}  // namespace

bool Event::on(Operation operation, Comm comm) {
  const KnownComm* const known = recorder.comm(comm.value);
  if (!known) return false;
  recorder.begin_event(operation);
  recorder.stream.number(known->id);
  return true;
}

void Event::part(Count count, Type type) {
  const auto size = static_cast<Word>(type.size());
  recorder.stream.number(static_cast<Word>(count.value)), recorder.stream.number(size);
  recorder.add_bytes(static_cast<Word>(count.value) * size);
}

// Encodes an array of counts by run length, because many ranks' counts are equal, often 0.
void Event::array(Counts counts, int ranks) {
  for (int at = 0; at < ranks;) {
    int next = at + 1;
    while (next < ranks && counts[next] == counts[at]) ++next;
    recorder.stream.number(static_cast<Word>(counts[at])), recorder.stream.number(static_cast<Word>(next - at));
    at = next;
  }
}

void Event::maybe(Requests requests) {
  if (split_) return recorder.stream.number(1 + add_apart({}));
  recorder.stream.number(requests.there() ? 1 + recorder.add_active_request(requests.key(0)) : 0);
}

void Event::take(Comm comm, Requests requests) {
  if (between_groups(comm)) return barrier_between(comm, requests);
  if (on(Operation::barrier, comm)) maybe(requests);
}

void Event::take(Buffer, Count count, Type type, Number root, Comm comm, Requests requests) {
  if (between_groups(comm)) return bcast_between(comm, count, type, root.value, requests);
  if (!on(Operation::bcast, comm)) return;
  recorder.stream.number(static_cast<Word>(root.value));
  part(count, type), maybe(requests);
}

void Event::take(Buffer, Buffer, Count count, Type type, Op op, Number root, Comm comm, Requests requests) {
  if (between_groups(comm)) return reduce_between(comm, count, type, op, root.value, requests);
  if (!on(Operation::reduce, comm)) return;
  recorder.stream.number(static_cast<Word>(root.value));
  part(count, type), recorder.stream.number(op.commutes()), maybe(requests);
}

// The root may pass MPI_IN_PLACE for its own part; then the counts of the other ranks' parts are used.
void Event::take(Buffer, Count count, Type type, Buffer, Count count_there, Type type_there, Number root, Comm comm,
                 Requests requests) {
  const Operation operation = of(call_);
  if (between_groups(comm)) {
    const bool gathers = operation == Operation::gather;
    const auto bytes = [&](bool here) {
      return here ? count.value * type.size() : count_there.value * type_there.size();
    };
    const std::int64_t each = root.value == MPI_ROOT ? bytes(!gathers) : 0;
    const std::int64_t own = root.value >= 0 ? bytes(gathers) : 0;
    return with_root(comm, root.value, gathers, {.same = each}, own, requests);
  }
  if (!on(operation, comm)) return;
  recorder.stream.number(static_cast<Word>(root.value));
  const bool is_root = recorder.comm(comm.value)->rank == root.value;
  // Returns the count of each other rank, known at the root: what the root receives in a gather, or sends in a scatter.
  const bool first = operation == Operation::gather ? !is_root : is_root;
  first ? part(count, type) : part(count_there, type_there);
  maybe(requests);
}

void Event::take(Buffer, Count count, Type type, Buffer, Counts counts, Ignored, Type type_there, Number root,
                 Comm comm, Requests requests) {
  if (between_groups(comm)) {
    const std::int64_t size = root.value == MPI_ROOT ? type_there.size() : 0;
    const std::int64_t own = root.value >= 0 ? count.value * type.size() : 0;
    return with_root(comm, root.value, true, {.counts = &counts, .size = size}, own, requests);
  }
  if (!on(Operation::gatherv, comm)) return;
  const KnownComm& known = *recorder.comm(comm.value);
  recorder.stream.number(static_cast<Word>(root.value));
  if (known.rank == root.value) {
    part({counts[known.rank]}, type_there);
    recorder.stream.number(static_cast<Word>(type_there.size()));
    array(counts, known.size);
  } else {
    part(count, type);
  }
  maybe(requests);
}

void Event::take(Buffer, Counts counts, Ignored, Type type, Buffer, Count count, Type type_here, Number root, Comm comm,
                 Requests requests) {
  if (between_groups(comm)) {
    const std::int64_t size = root.value == MPI_ROOT ? type.size() : 0;
    const std::int64_t own = root.value >= 0 ? count.value * type_here.size() : 0;
    return with_root(comm, root.value, false, {.counts = &counts, .size = size}, own, requests);
  }
  if (!on(Operation::scatterv, comm)) return;
  const KnownComm& known = *recorder.comm(comm.value);
  recorder.stream.number(static_cast<Word>(root.value));
  if (known.rank == root.value) {
    part({counts[known.rank]}, type);
    recorder.stream.number(static_cast<Word>(type.size()));
    array(counts, known.size);
  } else {
    part(count, type_here);
  }
  maybe(requests);
}

// The receive parameters determine the size, because the send parameters are ignored with MPI_IN_PLACE.
void Event::take(Buffer, Count count, Type type, Buffer, Count count_there, Type type_there, Comm comm,
                 Requests requests) {
  if (call_ == Call::Neighbor_allgather || call_ == Call::Ineighbor_allgather || call_ == Call::Neighbor_alltoall ||
      call_ == Call::Ineighbor_alltoall)
    return exchange(comm, {.same = count.value * type.size()}, {.same = count_there.value * type_there.size()},
                    requests);
  if (between_groups(comm)) {
    const std::int64_t out = count.value * type.size(), in = count_there.value * type_there.size();
    if (of(call_) == Operation::allgather) return allgather_between(comm, out, in, requests);
    return with_all(comm, {.same = out}, {.same = in}, requests);
  }
  if (!on(of(call_), comm)) return;
  part(count_there, type_there), maybe(requests);
}

void Event::take(Buffer, Count count, Type type, Buffer, Counts counts, Ignored, Type type_there, Comm comm,
                 Requests requests) {
  if (call_ == Call::Neighbor_allgatherv || call_ == Call::Ineighbor_allgatherv)
    return exchange(comm, {.same = count.value * type.size()}, {.counts = &counts, .size = type_there.size()},
                    requests);
  if (between_groups(comm))
    return with_all(comm, {.same = count.value * type.size()}, {.counts = &counts, .size = type_there.size()},
                    requests);
  if (!on(Operation::allgatherv, comm)) return;
  const KnownComm& known = *recorder.comm(comm.value);
  const auto size = static_cast<Word>(type_there.size());
  recorder.stream.number(size);
  array(counts, known.size);
  recorder.add_bytes(static_cast<Word>(counts[known.rank]) * size);
  maybe(requests);
}

void Event::take(Buffer sent, Counts to, Ignored, Type type, Buffer, Counts from, Ignored, Type type_there, Comm comm,
                 Requests requests) {
  if (call_ == Call::Neighbor_alltoallv || call_ == Call::Ineighbor_alltoallv)
    return exchange(comm, {.counts = &to, .size = type.size()}, {.counts = &from, .size = type_there.size()}, requests);
  if (between_groups(comm))
    return with_all(comm, {.counts = &to, .size = type.size()}, {.counts = &from, .size = type_there.size()}, requests);
  if (!on(Operation::alltoallv, comm)) return;
  const int ranks = recorder.comm(comm.value)->size;
  const Counts& out = sent.in_place ? from : to;
  const auto size = static_cast<Word>((sent.in_place ? type_there : type).size());
  recorder.stream.number(size);
  array(out, ranks);
  recorder.stream.number(static_cast<Word>(type_there.size()));
  array(from, ranks);
  Word whole = 0;
  bool sparse = false;
  for (int other = 0; other < ranks; ++other) {
    whole += static_cast<Word>(out[other]);
    sparse = sparse || out[other] == 0 || from[other] == 0;
  }
  recorder.add_bytes(whole * size);
  recorder.header->sparse += sparse;
  maybe(requests);
}

void Event::take(Buffer sent, Counts to, Ignored, Types types, Buffer, Counts from, Ignored, Types types_there,
                 Comm comm, Requests requests) {
  if (call_ == Call::Neighbor_alltoallw || call_ == Call::Ineighbor_alltoallw)
    return exchange(comm, {.counts = &to, .types = &types}, {.counts = &from, .types = &types_there}, requests);
  if (between_groups(comm))
    return with_all(comm, {.counts = &to, .types = &types}, {.counts = &from, .types = &types_there}, requests);
  if (!on(Operation::alltoallw, comm)) return;
  const auto ranks = static_cast<std::size_t>(recorder.comm(comm.value)->size);
  std::vector<std::int64_t> out(ranks), in(ranks);
  Word whole = 0;
  for (std::size_t other = 0; other < ranks; ++other) {
    const int at = static_cast<int>(other);
    in[other] = from[at] > 0 ? from[at] * types_there[at].size() : 0;
    out[other] = sent.in_place ? in[other] : to[at] > 0 ? to[at] * types[at].size() : 0;
    whole += static_cast<Word>(out[other]);
  }
  array({out.data(), true}, static_cast<int>(ranks)), array({in.data(), true}, static_cast<int>(ranks));
  recorder.add_bytes(whole);
  maybe(requests);
}

void Event::take(Buffer, Buffer, Count count, Type type, Op op, Comm comm, Requests requests) {
  if (between_groups(comm)) {
    if (of(call_) == Operation::allreduce) return allreduce_between(comm, count, type, op, requests);
    return reduce_scatter_between(comm, nullptr, count, type, op, requests);
  }
  if (!on(of(call_), comm)) return;
  part(count, type), recorder.stream.number(op.commutes()), maybe(requests);
}

void Event::take(Buffer, Buffer, Counts counts, Type type, Op op, Comm comm, Requests requests) {
  if (between_groups(comm)) return reduce_scatter_between(comm, &counts, {0}, type, op, requests);
  if (!on(Operation::reduce_scatter, comm)) return;
  const int ranks = recorder.comm(comm.value)->size;
  const auto size = static_cast<Word>(type.size());
  recorder.stream.number(size);
  array(counts, ranks);
  Word whole = 0;
  for (int other = 0; other < ranks; ++other) whole += static_cast<Word>(counts[other]);
  recorder.add_bytes(whole * size);
  recorder.stream.number(op.commutes()), maybe(requests);
}

void Event::exchange(Comm comm, const Parts& out, const Parts& in, Requests requests) {
  const Neighbours with = neighbours_of(comm.value);
  lists(comm, with.to, out, with.from, in, requests);
}

void Event::lists(Comm comm, const std::vector<int>& to, const Parts& out, const std::vector<int>& from,
                  const Parts& in, Requests requests) {
  if (!on(Operation::neighbours, comm)) return;
  const auto list = [&](const std::vector<int>& others, const Parts& parts, bool sent) {
    recorder.stream.number(others.size());
    for (std::size_t at = 0; at < others.size(); ++at) {
      const auto bytes = static_cast<Word>(parts[static_cast<int>(at)]);
      recorder.stream.signed_number(others[at] == MPI_PROC_NULL ? trace::nobody : others[at]);
      recorder.stream.number(bytes);
      if (sent && others[at] != MPI_PROC_NULL) recorder.add_bytes(bytes);
    }
  };
  list(to, out, true), list(from, in, false);
  maybe(requests);
}

}  // namespace kiviat::prof
