#include <algorithm>

#include "trace/replay/rank.hpp"

namespace kiviat::trace {

std::vector<int> Rank::ranks(int all) {
  std::vector<int> members;
  std::vector<bool> there(static_cast<std::size_t>(all));
  for (int left = stream_.whole(all, "the number of members"); left > 0;) {
    std::int64_t rank = stream_.whole(all - 1, "a member");
    const std::int64_t step = stream_.signed_whole("the step between members");
    for (int more = stream_.whole(left, "the number of members in a row"); more > 0; --more, --left, rank += step) {
      if (rank < 0 || rank >= all || there[static_cast<std::size_t>(rank)])
        stream_.refuse("group member " + std::to_string(rank) + " is outside the communicator of " +
                       std::to_string(all) + " ranks, or listed twice");
      there[static_cast<std::size_t>(rank)] = true;
      members.push_back(static_cast<int>(rank));
    }
  }
  return members;
}

void Rank::put_comm(Word number, MPI_Comm comm) {
  if (number == world) return;  // this rank is not a member of the new communicator
  if (comm == MPI_COMM_NULL || comms_.contains(number))
    stream_.refuse("communicator " + std::to_string(number) +
                   (comm == MPI_COMM_NULL ? " is created without this rank" : " already exists"));
  comms_[number] = {comm};
}

void Rank::new_comm(Operation operation) {
  const MPI_Comm parent = comm();
  MPI_Comm made = MPI_COMM_NULL;
  if (operation == Operation::comm_dup) {
    MPI_Comm_dup(parent, &made);
  } else if (operation == Operation::comm_split) {
    const int colour = stream_.signed_whole("the colour"), key = stream_.signed_whole("the key");
    if (colour < nobody) stream_.refuse("colour " + std::to_string(colour) + " of MPI_Comm_split is negative");
    MPI_Comm_split(parent, colour == nobody ? MPI_UNDEFINED : colour, key, &made);
  } else {
    const std::vector<int> members = ranks(size_of(parent));
    if (std::ranges::find(members, rank_in(parent)) == members.end())
      stream_.refuse("a communicator is created without this rank");
    made = comm_of(parent, members);
  }
  put_comm(stream_.number(), made);
}

// The simulator has no communicators between two groups: messages go through one of both groups, whose ranks are in the
// order of the world.
void Rank::new_intercomm() {
  const std::vector<int> own = ranks(size_of(MPI_COMM_WORLD)), others = ranks(size_of(MPI_COMM_WORLD));
  std::vector<int> both = own;
  both.insert(both.end(), others.begin(), others.end());
  std::ranges::sort(both);
  if (std::ranges::adjacent_find(both) != both.end()) stream_.refuse("a rank is in both groups of a communicator");
  if (std::ranges::find(own, rank_in(MPI_COMM_WORLD)) == own.end() || others.empty())
    stream_.refuse("a communicator between two groups is created without this rank, or with one group");
  const Word number = stream_.number(), within = stream_.number();
  if (number == world || within == world) stream_.refuse("a communicator between two groups replaces the world");
  put_comm(number, comm_of(MPI_COMM_WORLD, both));
  for (const int rank : others)
    comms_[number].remote.push_back(static_cast<int>(std::ranges::lower_bound(both, rank) - both.begin()));
  put_comm(within, comm_of(MPI_COMM_WORLD, own));
}

MPI_Comm Rank::comm_of(MPI_Comm parent, const std::vector<int>& members) {
  MPI_Comm made;
  MPI_Group all, some;
  MPI_Comm_group(parent, &all);
  MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some);
  MPI_Comm_create_group(parent, some, 0, &made);
  MPI_Group_free(&all);
  MPI_Group_free(&some);
  return made;
}

void Rank::free_comm() {
  const Word number = stream_.number();
  const auto freed = comms_.find(number);
  if (freed == comms_.end() || number == world || number == self)
    stream_.refuse("communicator " + std::to_string(number) + " cannot be freed: it is predefined, or does not exist");
  MPI_Comm_free(&freed->second.comm);
  comms_.erase(freed);
}

}  // namespace kiviat::trace
