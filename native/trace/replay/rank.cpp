#include "trace/replay/rank.hpp"

#include <algorithm>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <string>

#include "trace/replay/scratch.hpp"

namespace kiviat::trace {
namespace {

void no_sum(void*, void*, int*, MPI_Datatype*) {}

}  // namespace

int size_of(MPI_Comm comm) {
  int size;
  MPI_Comm_size(comm, &size);
  return size;
}

int rank_in(MPI_Comm comm) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

void Rank::run() {
  MPI_Op_create(no_sum, 1, &commuting_);
  MPI_Op_create(no_sum, 0, &ordered_);
  comms_ = {{world, {MPI_COMM_WORLD}}, {self, {MPI_COMM_SELF}}};
  for (;;) {
    const double ended_s = simgrid::s4u::Engine::get_clock();
    compute(1e-9 * static_cast<double>(stream_.number()));
    const auto operation =
        static_cast<Operation>(stream_.number(static_cast<Word>(Operation::count) - 1, "the operation"));
    if (operation == Operation::end) break;
    if (operation == Operation::thread) {
      change_thread(ended_s);
      continue;
    }
    ++progress_.calls;
    step(operation);
    if (own_ != MPI_REQUEST_NULL) MPI_Wait(&own_, MPI_STATUS_IGNORE);
    own_ = MPI_REQUEST_NULL;
  }
}

void Rank::finish() {
  if (!abandoned_.empty()) MPI_Waitall(static_cast<int>(abandoned_.size()), abandoned_.data(), MPI_STATUSES_IGNORE);
}

// The calls of a rank are issued one after another, in recorded order, but its threads compute at the same time: what
// the next thread computed since its own last event counts from the end of that event on, and for a thread without
// events, from that of the last event of the others.
void Rank::change_thread(double ended_s) {
  threads_[thread_] = ended_s;
  thread_ = stream_.number();
  const double since_s = threads_.try_emplace(thread_, ended_s).first->second;
  const double wanted_s = 1e-9 * static_cast<double>(stream_.number()) * setting_.scale;
  const double left_s = wanted_s - (simgrid::s4u::Engine::get_clock() - since_s);
  if (left_s > 0) compute(left_s / setting_.scale);
}

// The simulator divides a core among the ranks placed on it.
void Rank::compute(double recorded_s) {
  // The simulator's clock is a double: beyond 2^52 ns it cannot resolve nanoseconds, and short messages would take no
  // time or never end.
  constexpr double most_s = 1e-9 * (std::int64_t{1} << 52);
  const double seconds = recorded_s * setting_.scale;
  if (seconds <= 0) return;
  if (computed_s_ + seconds > most_s)
    stream_.refuse("the rank computes for more than 52 days, the longest time that the simulator's clock resolves");
  const double before = simgrid::s4u::Engine::get_clock();
  ++progress_.computing;
  simgrid::s4u::this_actor::execute(seconds * simgrid::s4u::this_actor::get_host()->get_speed());
  --progress_.computing;
  computed_s_ += simgrid::s4u::Engine::get_clock() - before;
}

void Rank::step(Operation operation) {
  using enum Operation;
  switch (operation) {
    case send:
    case ssend:
    case bsend:
      return Rank::send(operation);
    case isend:
    case issend:
      return start_send(operation);
    case recv:
      return receive();
    case irecv:
      return start_receive();
    case sendrecv:
      return send_and_receive();
    case Operation::probe:
      return Rank::probe();
    case Operation::wait:
      return Rank::wait();
    case free_request:
      return give_up();
    case Operation::cancel:
      return Rank::cancel();
    case Operation::barrier:
      return Rank::barrier();
    case bcast:
    case gather:
    case scatter:
      return rooted(operation);
    case gatherv:
    case scatterv:
      return rooted_array(operation);
    case Operation::reduce:
      return Rank::reduce();
    case allgather:
    case alltoall:
      return equal_parts(operation);
    case Operation::allgatherv:
      return Rank::allgatherv();
    case Operation::alltoallv:
      return Rank::alltoallv();
    case Operation::alltoallw:
      return Rank::alltoallw();
    case allreduce:
    case scan:
    case exscan:
    case reduce_scatter_block:
      return reduction(operation);
    case Operation::reduce_scatter:
      return Rank::reduce_scatter();
    case Operation::neighbours:
      return Rank::neighbours();
    case comm_dup:
    case comm_split:
    case comm_create:
      return new_comm(operation);
    case intercomm:
      return new_intercomm();
    case comm_free:
      return free_comm();
    case win_create:
    case win_free:
      return window(operation);
    case stamp:
    case Operation::members:
    case matched:
    case ends:
    case control:
      stream_.refuse(
          "the trace contains time stamps (recorded for wait states) and cannot be replayed; record one with "
          "kiviat trace");
    case put:
    case get:
    case accumulate:
    case get_accumulate:
    case fetch_and_op:
    case compare_and_swap:
      return remote(operation);
    default:
      return synchronise(operation);
  }
}

Word Rank::bytes(Word count, Word size) {
  Word all;
  if (__builtin_mul_overflow(count, size, &all) || all > most_bytes)
    stream_.refuse(std::to_string(count) + " elements of " + std::to_string(size) +
                   " B exceed the limit of the replay, " + std::to_string(most_bytes) + " B per call");
  return all;
}

MPI_Datatype Rank::element(Word size) {
  MPI_Datatype& known = elements_.try_emplace(size, MPI_DATATYPE_NULL).first->second;
  if (known == MPI_DATATYPE_NULL) {
    MPI_Type_contiguous(static_cast<int>(size), MPI_BYTE, &known);
    MPI_Type_commit(&known);
  }
  return known;
}

Rank::Element Rank::longest_element(Word divisor) {
  if (divisor % 16 == 0) return {MPI_C_DOUBLE_COMPLEX, 16};
  if (divisor % 8 == 0) return {MPI_DOUBLE, 8};
  if (divisor % 4 == 0) return {MPI_INT, 4};
  return divisor % 2 == 0 ? Element{MPI_SHORT, 2} : Element{MPI_BYTE, 1};
}

Rank::Part Rank::of_bytes(Word all) const {
  if (all <= INT32_MAX) return {static_cast<int>(all), MPI_BYTE, all};
  Element element = longest_element(all);
  if (all / element.bytes > INT32_MAX) element = longest_element(0);
  return {static_cast<int>((all + element.bytes - 1) / element.bytes), element.type, all};
}

Rank::Part Rank::part(bool summed) {
  const Word count = stream_.number(), size = stream_.number(), all = bytes(count, size);
  constexpr Word most_copied = Word{1} << 20;
  if (!summed || all > most_copied || size <= 1) return of_bytes(all);
  return {static_cast<int>(count), element(size), all};
}

const Rank::Comm& Rank::group() {
  const Word number = stream_.number();
  const auto found = comms_.find(number);
  if (found == comms_.end()) stream_.refuse("communicator " + std::to_string(number) + " does not exist");
  return found->second;
}

int Rank::root(MPI_Comm comm) { return stream_.whole(size_of(comm) - 1, "the root"); }

int Rank::peer(int ranks, From from) {
  const std::int64_t told = stream_.signed_number();
  if (told == nobody) return MPI_PROC_NULL;
  if (told == any && from == From::any) return MPI_ANY_SOURCE;
  if (told < 0 || told >= ranks)
    stream_.refuse("rank " + std::to_string(told) + " is not in the communicator of " + std::to_string(ranks) +
                   " ranks");
  return static_cast<int>(told);
}

int Rank::peer(MPI_Comm over, const std::vector<int>& remote, From from) {
  if (remote.empty()) return peer(size_of(over), from);
  const int told = peer(static_cast<int>(remote.size()), from);
  return told == MPI_PROC_NULL || told == MPI_ANY_SOURCE ? told : remote[static_cast<std::size_t>(told)];
}

int Rank::tag(From from) {
  const std::int64_t told = stream_.signed_number();
  if (told == any && from == From::any) return MPI_ANY_TAG;
  if (told < 0 || told > INT32_MAX) stream_.refuse("tag " + std::to_string(told) + " is not a valid MPI tag");
  return static_cast<int>(told);
}

MPI_Request* Rank::pending() {
  const Word told = stream_.number();
  if (told == 0) return nullptr;
  slot(told - 1) = {};
  return &slot(told - 1).one;
}

MPI_Request* Rank::pending_collective() {
  MPI_Request* const request = pending();
  return request || !setting_.apart ? request : &own_;
}

// --- point to point -----------------------------------------------------------------------------------
void Rank::send(Operation operation) {
  const auto& [over, remote] = group();
  const int to = peer(over, remote, From::one), with = tag(From::one);
  const Part what = part();
  const void* from = scratch(what.bytes);
  if (operation == Operation::ssend) {
    MPI_Ssend(from, what.count, what.type, to, with, over);
  } else if (operation == Operation::bsend) {
    MPI_Isend(from, what.count, what.type, to, with, over, &abandoned_.emplace_back());
  } else {
    MPI_Send(from, what.count, what.type, to, with, over);
  }
}

void Rank::receive() {
  const auto& [over, remote] = group();
  const int from = peer(over, remote, From::any), with = tag(From::any);
  const Part what = part();
  MPI_Recv(scratch(what.bytes), what.count, what.type, from, with, over, MPI_STATUS_IGNORE);
}

void Rank::start_send(Operation operation) {
  const auto& [over, remote] = group();
  const int to = peer(over, remote, From::one), with = tag(From::one);
  const Part what = part();
  Pending& request = slot(stream_.number()) = {.sends = true};
  const void* from = scratch(what.bytes);
  if (operation == Operation::issend)
    MPI_Issend(from, what.count, what.type, to, with, over, &request.one);
  else
    MPI_Isend(from, what.count, what.type, to, with, over, &request.one);
}

void Rank::start_receive() {
  const auto& [over, remote] = group();
  const int from = peer(over, remote, From::any), with = tag(From::any);
  const Part what = part();
  Pending& request = slot(stream_.number()) = {};
  MPI_Irecv(scratch(what.bytes), what.count, what.type, from, with, over, &request.one);
}

void Rank::send_and_receive() {
  const auto& [over, remote] = group();
  const int to = peer(over, remote, From::one), with = tag(From::one);
  const Part out = part();
  const int from = peer(over, remote, From::any), with_back = tag(From::any);
  const Part in = part();
  const auto [there, here] = scratch(out.bytes, in.bytes);
  MPI_Sendrecv(there, out.count, out.type, to, with, here, in.count, in.type, from, with_back, over, MPI_STATUS_IGNORE);
}

void Rank::probe() {
  const auto& [over, remote] = group();
  const int from = peer(over, remote, From::any), with = tag(From::any);
  if (from == MPI_PROC_NULL) return;
  // Polls like MPI_Probe. The simulator does not recognise endless polling as deadlock, so this gives up after
  // `patience` polls without progress of other ranks; pauses between polls grow, so that is more than half an hour of
  // simulated time.
  constexpr int patience = 200'000;
  std::int64_t calls = progress_.calls;
  for (int found = 0, times = 0; !found; ++times) {
    MPI_Iprobe(from, with, over, &found, MPI_STATUS_IGNORE);
    if (progress_.computing > 0 || progress_.calls != calls) times = 0, calls = progress_.calls;
    if (times == patience) stream_.refuse("a probe waits for a message that no rank sends");
  }
}

void Rank::wait() {
  waited_.clear();
  for (Word left = stream_.number(); left > 0; --left) {
    const auto found = requests_.find(stream_.number());
    if (found == requests_.end()) continue;
    const Pending& request = found->second;
    if (request.one != MPI_REQUEST_NULL && !request.cancelled) waited_.push_back(request.one);
    waited_.insert(waited_.end(), request.more.begin(), request.more.end());
    requests_.erase(found);
  }
  if (waited_.size() == 1)
    MPI_Wait(waited_.data(), MPI_STATUS_IGNORE);
  else if (!waited_.empty())
    MPI_Waitall(static_cast<int>(waited_.size()), waited_.data(), MPI_STATUSES_IGNORE);
}

void Rank::give_up() {
  const auto found = requests_.find(stream_.number());
  if (found == requests_.end()) return;
  const Pending& request = found->second;
  if (request.one != MPI_REQUEST_NULL && request.sends && !request.cancelled) abandoned_.push_back(request.one);
  requests_.erase(found);
}

void Rank::cancel() {
  const auto found = requests_.find(stream_.number());
  if (found == requests_.end() || found->second.one == MPI_REQUEST_NULL) return;
  MPI_Cancel(&found->second.one);
  found->second.cancelled = true;
}

}  // namespace kiviat::trace
