#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "trace/replay/rank.hpp"
#include "trace/replay/scratch.hpp"

namespace kiviat::trace {
namespace {

// Tags of messages that replace collectives; unlikely to be used by programs.
constexpr int alltoall_tag = 7721, neighbours_tag = 7722, barrier_tag = 7724;

}  // namespace

Rank::Array Rank::array(int ranks, bool shared) {
  const Word size = stream_.number();
  std::vector<std::pair<Word, int>> runs;
  Array read{.type = MPI_BYTE};
  Word divisor = 0;
  for (int left = ranks; left > 0;) {
    const Word part = bytes(stream_.number(), size);
    const int times = stream_.whole(left, "the repeat count of a part");
    runs.emplace_back(part, times);
    divisor = std::gcd(divisor, part);
    read.most = std::max(read.most, static_cast<std::size_t>(part));
    read.whole += bytes(static_cast<Word>(times), part);
    left -= times;
  }
  bytes(1, read.whole);
  const Word longest = shared ? read.whole : read.most;
  Element element{MPI_BYTE, 1};
  if (longest > INT32_MAX) element = longest_element(divisor);
  if (longest / element.bytes > INT32_MAX) {
    if (!shared)
      stream_.refuse("a part of more than 2 GiB beside one of an odd number of bytes exceeds the limit of the replay");
    element = longest_element(0);
  }
  read.type = element.type;
  for (const auto& [part, times] : runs)
    read.counts.insert(read.counts.end(), static_cast<std::size_t>(times),
                       static_cast<int>((part + element.bytes - 1) / element.bytes));
  read.nowhere.resize(read.counts.size());
  return read;
}

std::vector<std::int64_t> Rank::parts(int ranks) {
  std::vector<std::int64_t> all;
  for (int left = ranks; left > 0;) {
    const auto value = static_cast<std::int64_t>(bytes(1, stream_.number()));
    const int times = stream_.whole(left, "the repeat count of a size");
    all.insert(all.end(), static_cast<std::size_t>(times), value);
    left -= times;
  }
  return all;
}

void Rank::barrier() {
  const MPI_Comm over = comm();
  const Word told = stream_.number();
  if (told || setting_.apart) {
    // The simulator's non-blocking barrier does not synchronise: each rank sends a byte to each other one. A blocking
    // barrier at the wait could wait for a rank that waits for something which this rank does after its wait.
    std::vector<int> everybody(static_cast<std::size_t>(size_of(over)));
    std::iota(everybody.begin(), everybody.end(), 0);
    std::vector<std::int64_t> bytes(everybody.size(), 1);
    bytes[static_cast<std::size_t>(rank_in(over))] = 0;
    exchange(bytes, bytes, everybody, everybody, over, barrier_tag, told);
  } else {
    MPI_Barrier(over);
  }
}

void Rank::rooted(Operation operation) {
  const MPI_Comm over = comm();
  const int at = root(over);
  const auto [count, type, bytes] = part();
  MPI_Request* const request = pending_collective();
  const std::size_t all = operation == Operation::bcast || rank_in(over) != at
                              ? bytes
                              : Rank::bytes(static_cast<Word>(size_of(over)), bytes);
  const auto [out, in] = scratch(all, all);
  switch (operation) {
    case Operation::bcast:
      request ? MPI_Ibcast(out, count, type, at, over, request) : MPI_Bcast(out, count, type, at, over);
      break;
    case Operation::gather:
      request ? MPI_Igather(out, count, type, in, count, type, at, over, request)
              : MPI_Gather(out, count, type, in, count, type, at, over);
      break;
    default:
      request ? MPI_Iscatter(out, count, type, in, count, type, at, over, request)
              : MPI_Scatter(out, count, type, in, count, type, at, over);
  }
}

void Rank::rooted_array(Operation operation) {
  const MPI_Comm over = comm();
  const int at = root(over);
  const auto [count, type, bytes] = part();
  Array all{.type = type};
  if (rank_in(over) == at) all = array(size_of(over), false);
  MPI_Request* const request = pending_collective();
  const std::size_t most = std::max(bytes, all.most);
  const auto [out, in] = scratch(most, most);
  if (operation == Operation::gatherv)
    request ? MPI_Igatherv(out, count, type, in, all.counts.data(), all.nowhere.data(), all.type, at, over, request)
            : MPI_Gatherv(out, count, type, in, all.counts.data(), all.nowhere.data(), all.type, at, over);
  else
    request ? MPI_Iscatterv(out, all.counts.data(), all.nowhere.data(), all.type, in, count, type, at, over, request)
            : MPI_Scatterv(out, all.counts.data(), all.nowhere.data(), all.type, in, count, type, at, over);
}

void Rank::reduce() {
  const MPI_Comm over = comm();
  const int at = root(over);
  const auto [count, type, bytes] = part(true);
  const MPI_Op op = operation(stream_.number() != 0);
  MPI_Request* const request = pending_collective();
  const auto [out, in] = scratch(bytes, bytes);
  request ? MPI_Ireduce(out, in, count, type, op, at, over, request) : MPI_Reduce(out, in, count, type, op, at, over);
}

void Rank::equal_parts(Operation operation) {
  const MPI_Comm over = comm();
  const auto [count, type, bytes] = part();
  MPI_Request* const request = pending_collective();
  const std::size_t all = Rank::bytes(static_cast<Word>(size_of(over)), bytes);
  const auto [out, in] = scratch(all, all);
  if (operation == Operation::allgather)
    request ? MPI_Iallgather(out, count, type, in, count, type, over, request)
            : MPI_Allgather(out, count, type, in, count, type, over);
  else
    request ? MPI_Ialltoall(out, count, type, in, count, type, over, request)
            : MPI_Alltoall(out, count, type, in, count, type, over);
}

// Displacements are real here, because ring algorithms forward parts from the receive buffer.
void Rank::allgatherv() {
  const MPI_Comm over = comm();
  Array all = array(size_of(over), true);
  MPI_Request* const request = pending_collective();
  std::exclusive_scan(all.counts.begin(), all.counts.end(), all.nowhere.begin(), 0);
  const auto [out, in] = scratch(all.most, all.whole);
  const int own = all.counts[static_cast<std::size_t>(rank_in(over))];
  request ? MPI_Iallgatherv(out, own, all.type, in, all.counts.data(), all.nowhere.data(), all.type, over, request)
          : MPI_Allgatherv(out, own, all.type, in, all.counts.data(), all.nowhere.data(), all.type, over);
}

void Rank::exchange(const std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from,
                    const std::vector<int>& targets, const std::vector<int>& sources, MPI_Comm over, int tag,
                    Word told) {
  std::vector<MPI_Request> requests;
  // Starting at the own rank avoids that all ranks send to the same receiver first.
  const std::size_t first =
      to.size() == static_cast<std::size_t>(size_of(over)) ? static_cast<std::size_t>(rank_in(over)) : 0;
  const std::size_t most =
      static_cast<std::size_t>(std::max({std::int64_t{0}, to.empty() ? 0 : *std::ranges::max_element(to),
                                         from.empty() ? 0 : *std::ranges::max_element(from)}));
  const auto [out, in] = scratch(most, most);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t at = (first + from.size() - i) % from.size();
    const Part part = of_bytes(static_cast<Word>(from[at]));
    if (part.bytes > 0 && sources[at] != MPI_PROC_NULL)
      MPI_Irecv(in, part.count, part.type, sources[at], tag, over, &requests.emplace_back());
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t at = (first + i) % to.size();
    const Part part = of_bytes(static_cast<Word>(to[at]));
    if (part.bytes > 0 && targets[at] != MPI_PROC_NULL)
      MPI_Isend(out, part.count, part.type, targets[at], tag, over, &requests.emplace_back());
  }
  if (told)
    slot(told - 1) = {.more = std::move(requests)};
  else if (!requests.empty())
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

void Rank::alltoallv() {
  const MPI_Comm over = comm();
  const int ranks = size_of(over);
  const Array to = array(ranks, false), from = array(ranks, false);
  const Word told = stream_.number();
  if (setting_.sparse || setting_.apart) {
    const auto bytes = [](const Array& parts) {
      int size;
      MPI_Type_size(parts.type, &size);
      std::vector<std::int64_t> all;
      for (const int count : parts.counts) all.push_back(std::int64_t{count} * size);
      return all;
    };
    std::vector<int> everybody(static_cast<std::size_t>(ranks));
    std::iota(everybody.begin(), everybody.end(), 0);
    return exchange(bytes(to), bytes(from), everybody, everybody, over, alltoall_tag, told);
  }
  const auto [out, in] = scratch(to.most, from.most);
  if (told)
    MPI_Ialltoallv(out, to.counts.data(), to.nowhere.data(), to.type, in, from.counts.data(), from.nowhere.data(),
                   from.type, over, &(slot(told - 1) = {}).one);
  else
    MPI_Alltoallv(out, to.counts.data(), to.nowhere.data(), to.type, in, from.counts.data(), from.nowhere.data(),
                  from.type, over);
}

void Rank::alltoallw() {
  const MPI_Comm over = comm();
  const int ranks = size_of(over);
  const std::vector<std::int64_t> to = parts(ranks), from = parts(ranks);
  std::vector<int> everybody(to.size());
  std::iota(everybody.begin(), everybody.end(), 0);
  exchange(to, from, everybody, everybody, over, alltoall_tag, stream_.number());
}

void Rank::reduction(Operation kind) {
  const MPI_Comm over = comm();
  const auto [count, type, bytes] = part(true);
  const MPI_Op op = operation(stream_.number() != 0);
  MPI_Request* const request = pending_collective();
  const std::size_t all =
      kind == Operation::reduce_scatter_block ? Rank::bytes(static_cast<Word>(size_of(over)), bytes) : bytes;
  const auto [out, in] = scratch(all, all);
  switch (kind) {
    case Operation::allreduce:
      request ? MPI_Iallreduce(out, in, count, type, op, over, request) : MPI_Allreduce(out, in, count, type, op, over);
      break;
    case Operation::scan:
      request ? MPI_Iscan(out, in, count, type, op, over, request) : MPI_Scan(out, in, count, type, op, over);
      break;
    case Operation::exscan:
      request ? MPI_Iexscan(out, in, count, type, op, over, request) : MPI_Exscan(out, in, count, type, op, over);
      break;
    default:
      request ? MPI_Ireduce_scatter_block(out, in, count, type, op, over, request)
              : MPI_Reduce_scatter_block(out, in, count, type, op, over);
  }
}

void Rank::reduce_scatter() {
  const MPI_Comm over = comm();
  const Array parts = array(size_of(over), true);
  const MPI_Op op = operation(stream_.number() != 0);
  MPI_Request* const request = pending_collective();
  const auto [out, in] = scratch(parts.whole, parts.whole);
  request ? MPI_Ireduce_scatter(out, in, parts.counts.data(), parts.type, op, over, request)
          : MPI_Reduce_scatter(out, in, parts.counts.data(), parts.type, op, over);
}

void Rank::neighbours() {
  const Comm& with = group();
  std::vector<int> targets, sources;
  const auto list = [&](std::vector<int>& others) {
    std::vector<std::int64_t> sizes;
    for (Word left = stream_.number(); left > 0; --left) {
      others.push_back(peer(with.comm, with.remote, From::one));
      sizes.push_back(static_cast<std::int64_t>(bytes(1, stream_.number())));
    }
    return sizes;
  };
  const std::vector<std::int64_t> to = list(targets);
  std::vector<std::int64_t> from = list(sources);
  // MPIs match the parts from one neighbour in different orders, in periodic dimensions of two ranks by direction
  // (MPI-4, 8.6) or not. So each receive has room for the longest part.
  std::unordered_map<int, std::int64_t> longest;
  for (std::size_t at = 0; at < from.size(); ++at) longest[sources[at]] = std::max(longest[sources[at]], from[at]);
  for (std::size_t at = 0; at < from.size(); ++at)
    if (from[at] > 0) from[at] = longest[sources[at]];
  exchange(to, from, targets, sources, with.comm, neighbours_tag, stream_.number());
}

}  // namespace kiviat::trace
