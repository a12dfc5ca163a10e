#include "trace/replay/rank.hpp"

#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>

#include <stdexcept>
#include <string>

#include "trace/replay/scratch.hpp"

namespace kiviat::trace {
namespace {

void no_sum(void*, void*, int*, MPI_Datatype*) {}

}  // namespace

void Rank::run() {
  MPI_Op_create(no_sum, 1, &commuting_);
  MPI_Op_create(no_sum, 0, &ordered_);
  comms_ = {MPI_COMM_WORLD, MPI_COMM_SELF};
  for (;;) {
    compute(stream_.number());
    const Word operation = stream_.number();
    if (operation >= static_cast<Word>(Operation::count))
      throw std::runtime_error("no operation has the number " + std::to_string(operation) + ", at byte " + std::to_string(stream_.place()));
    if (static_cast<Operation>(operation) == Operation::end) break;
    step(static_cast<Operation>(operation));
  }
}

void Rank::finish() {
  if (!abandoned_.empty()) MPI_Waitall(static_cast<int>(abandoned_.size()), abandoned_.data(), MPI_STATUSES_IGNORE);
}

// A rank has a core for itself, unless it was placed otherwise; then it shares it.
void Rank::compute(Word recorded_ns) {
  const double seconds = 1e-9 * static_cast<double>(recorded_ns) * setting_.scale;
  if (seconds <= 0) return;
  const double before = simgrid::s4u::Engine::get_clock();
  simgrid::s4u::this_actor::execute(seconds * simgrid::s4u::this_actor::get_host()->get_speed());
  computed_s_ += simgrid::s4u::Engine::get_clock() - before;
}

void Rank::step(Operation operation) {
  using enum Operation;
  switch (operation) {
    case send:
    case ssend:
    case bsend: return Rank::send(operation);
    case isend:
    case issend: return start_send(operation);
    case recv: return receive();
    case irecv: return start_receive();
    case sendrecv: return send_and_receive();
    case Operation::probe: return Rank::probe();
    case Operation::wait: return Rank::wait();
    case free_request: return give_up();
    case Operation::cancel: return Rank::cancel();
    case Operation::barrier: return Rank::barrier();
    case bcast:
    case gather:
    case scatter: return rooted(operation);
    case gatherv:
    case scatterv: return rooted_array(operation);
    case Operation::reduce: return Rank::reduce();
    case allgather:
    case alltoall: return equal_parts(operation);
    case Operation::allgatherv: return Rank::allgatherv();
    case Operation::alltoallv: return Rank::alltoallv();
    case Operation::alltoallw: return Rank::alltoallw();
    case allreduce:
    case scan:
    case exscan:
    case reduce_scatter_block: return reduction(operation);
    case Operation::reduce_scatter: return Rank::reduce_scatter();
    case Operation::neighbours: return Rank::neighbours();
    case comm_dup:
    case comm_split:
    case comm_create: return new_comm(operation);
    case comm_free: return free_comm();
    case win_create:
    case win_free: return window(operation);
    case put:
    case get:
    case accumulate:
    case get_accumulate:
    case fetch_and_op:
    case compare_and_swap: return remote(operation);
    default: return synchronise(operation);
  }
}

MPI_Datatype Rank::type(Word size) {
  if (size <= 1) return MPI_BYTE;
  MPI_Datatype& known = types_.try_emplace(size, MPI_DATATYPE_NULL).first->second;
  if (known == MPI_DATATYPE_NULL) {
    // Of more bytes than int can count: to the next MiB.
    constexpr Word block = 1 << 20;
    const MPI_Datatype of = size > 1024 * block ? type(block) : MPI_BYTE;
    MPI_Datatype made;
    MPI_Type_contiguous(static_cast<int>(of == MPI_BYTE ? size : (size + block - 1) / block), of, &made);
    MPI_Type_commit(&made);
    return types_[size] = made;
  }
  return known;
}

Rank::Part Rank::part() {
  const Word count = stream_.number(), size = stream_.number();
  // Larger counts than int can have are made of larger elements, to the next 4,096.
  constexpr Word most = INT32_MAX, together = 4096;
  if (count > most && size > 0) return {static_cast<int>((count + together - 1) / together), type(together * size), count * size};
  return {size == 0 ? 0 : static_cast<int>(count), type(size), count * size};
}

int Rank::peer() {
  const std::int64_t told = stream_.signed_number();
  return told == nobody ? MPI_PROC_NULL : told == any ? MPI_ANY_SOURCE : static_cast<int>(told);
}

int Rank::tag() {
  const std::int64_t told = stream_.signed_number();
  return told == any ? MPI_ANY_TAG : static_cast<int>(told);
}

Rank::Pending& Rank::slot(Word number) {
  if (number >= requests_.size()) requests_.resize(number + 1);
  return requests_[number];
}

MPI_Request* Rank::pending() {
  const Word told = stream_.number();
  if (told == 0) return nullptr;
  slot(told - 1) = {};
  return &slot(told - 1).one;
}

// --- point to point -----------------------------------------------------------------------------------
void Rank::send(Operation operation) {
  const MPI_Comm over = comm();
  const int to = peer(), with = tag();
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
  const MPI_Comm over = comm();
  const int from = peer(), with = tag();
  const Part what = part();
  MPI_Recv(scratch(what.bytes), what.count, what.type, from, with, over, MPI_STATUS_IGNORE);
}

void Rank::start_send(Operation operation) {
  const MPI_Comm over = comm();
  const int to = peer(), with = tag();
  const Part what = part();
  Pending& request = slot(stream_.number()) = {.sends = true};
  const void* from = scratch(what.bytes);
  if (operation == Operation::issend)
    MPI_Issend(from, what.count, what.type, to, with, over, &request.one);
  else
    MPI_Isend(from, what.count, what.type, to, with, over, &request.one);
}

void Rank::start_receive() {
  const MPI_Comm over = comm();
  const int from = peer(), with = tag();
  const Part what = part();
  Pending& request = slot(stream_.number()) = {};
  MPI_Irecv(scratch(what.bytes), what.count, what.type, from, with, over, &request.one);
}

void Rank::send_and_receive() {
  const MPI_Comm over = comm();
  const int to = peer(), with = tag();
  const Part out = part();
  const int from = peer(), with_back = tag();
  const Part in = part();
  const auto [there, here] = scratch(out.bytes, in.bytes);
  MPI_Sendrecv(there, out.count, out.type, to, with, here, in.count, in.type, from, with_back, over, MPI_STATUS_IGNORE);
}

void Rank::probe() {
  const MPI_Comm over = comm();
  const int from = peer(), with = tag();
  if (from != MPI_PROC_NULL) MPI_Probe(from, with, over, MPI_STATUS_IGNORE);
}

void Rank::wait() {
  waited_.clear();
  std::vector<MPI_Comm> barriers;
  for (Word left = stream_.number(); left > 0; --left) {
    Pending& request = slot(stream_.number());
    if (request.one != MPI_REQUEST_NULL && !request.cancelled) waited_.push_back(request.one);
    waited_.insert(waited_.end(), request.more.begin(), request.more.end());
    if (request.barrier != MPI_COMM_NULL) barriers.push_back(request.barrier);
    request = {};
  }
  if (waited_.size() == 1)
    MPI_Wait(waited_.data(), MPI_STATUS_IGNORE);
  else if (!waited_.empty())
    MPI_Waitall(static_cast<int>(waited_.size()), waited_.data(), MPI_STATUSES_IGNORE);
  // SimGrid's MPI_Ibarrier waits for nobody. A barrier when it is waited for is later than the program's at most by what the
  // program did in between.
  for (const MPI_Comm over : barriers) MPI_Barrier(over);
}

void Rank::give_up() {
  Pending& request = slot(stream_.number());
  if (request.one != MPI_REQUEST_NULL && request.sends && !request.cancelled) abandoned_.push_back(request.one);
  request = {};
}

void Rank::cancel() {
  Pending& request = slot(stream_.number());
  if (request.one == MPI_REQUEST_NULL) return;
  MPI_Cancel(&request.one);
  request.cancelled = true;
}

// --- communicators ------------------------------------------------------------------------------------
std::vector<int> Rank::ranks() {
  std::vector<int> members;
  for (Word left = stream_.number(); left > 0;) {
    int rank = stream_.whole();
    const int step = static_cast<int>(stream_.signed_number());
    for (Word more = stream_.number(); more > 0 && left > 0; --more, --left, rank += step) members.push_back(rank);
  }
  return members;
}

void Rank::put_comm(Word number, MPI_Comm comm) {
  if (number == world) return;  // this rank is not one of it
  if (number >= comms_.size()) comms_.resize(number + 1, MPI_COMM_NULL);
  comms_[number] = comm;
}

void Rank::new_comm(Operation operation) {
  const MPI_Comm parent = comm();
  MPI_Comm made = MPI_COMM_NULL;
  if (operation == Operation::comm_dup) {
    MPI_Comm_dup(parent, &made);
  } else if (operation == Operation::comm_split) {
    const int colour = static_cast<int>(stream_.signed_number()), key = static_cast<int>(stream_.signed_number());
    MPI_Comm_split(parent, colour == nobody ? MPI_UNDEFINED : colour, key, &made);
  } else {
    const std::vector<int> members = ranks();
    MPI_Group all, some;
    MPI_Comm_group(parent, &all);
    MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some);
    MPI_Comm_create_group(parent, some, 0, &made);
    MPI_Group_free(&all);
    MPI_Group_free(&some);
  }
  put_comm(stream_.number(), made);
}

void Rank::free_comm() {
  MPI_Comm& freed = comms_.at(stream_.number());
  MPI_Comm_free(&freed);
  freed = MPI_COMM_NULL;
}

}  // namespace kiviat::trace
