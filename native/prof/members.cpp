#include "prof/members.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "prof/neighbours.hpp"
#include "prof/profiler.hpp"
#include "prof/real.hpp"

namespace kiviat::prof {
namespace {

#ifdef KIVIAT_SIMULATED
// Simulated ranks need no lock: each has its own profiler, and only one of them runs at a time.
struct Learning {};
#else
std::mutex learning;
struct Learning {
  const std::lock_guard<std::mutex> guard{learning};
};
#endif

// Each simulated rank has its own attribute keys, because simulated ranks may share the handle of a communicator.

int no_copy(MPI_Comm, int, void*, void*, void*, int* flag) { return *flag = 0, MPI_SUCCESS; }
int no_window_copy(MPI_Win, int, void*, void*, void*, int* flag) { return *flag = 0, MPI_SUCCESS; }

int forget(MPI_Comm, int, void* value, void* whose) {
  auto& profiler = *static_cast<Profiler*>(whose);
  profiler.communicators.forget(static_cast<Members*>(value), profiler.concurrent);
  return MPI_SUCCESS;
}

int forget_window(MPI_Win, int, void* value, void* whose) {
  auto& profiler = *static_cast<Profiler*>(whose);
  profiler.windows.forget(static_cast<Members*>(value), profiler.concurrent);
  return MPI_SUCCESS;
}

int communicator_key() {
  int& key = profiler().communicator_key;
  if (key == MPI_KEYVAL_INVALID) KIVIAT_PMPI(Comm_create_keyval)(no_copy, forget, &key, &profiler());
  return key;
}

int window_key() {
  int& key = profiler().window_key;
  if (key == MPI_KEYVAL_INVALID) KIVIAT_PMPI(Win_create_keyval)(no_window_copy, forget_window, &key, &profiler());
  return key;
}

// Returns the shared counters of a group whose world ranks have equal steps; null for other groups, or if all entries
// are used.
Group* group_of(const Members& members) {
  if (members.table || members.size < 2) return nullptr;
  Group* const groups = profiler().state->groups;
  for (Group* group = groups; group != groups + most_groups; ++group) {
    if (group->size == 0) {
      group->base = members.base, group->stride = members.stride;
      group->size = static_cast<Word>(members.size);
      return group;
    }
    if (group->size == static_cast<Word>(members.size) && group->base == members.base &&
        group->stride == members.stride)
      return group;
  }
  ++profiler().state->header.lost_groups;
  return nullptr;
}

std::unique_ptr<Members> described(MPI_Group group, std::uintptr_t key, int rank) {
  auto members = std::make_unique<Members>();
  members->key = key, members->rank = rank;
  KIVIAT_PMPI(Group_size)(group, &members->size);
  std::vector<int> own(static_cast<std::size_t>(members->size)), ranks(own.size());
  std::iota(own.begin(), own.end(), 0);
  MPI_Group whole;
  KIVIAT_PMPI(Comm_group)(world(), &whole);
  KIVIAT_PMPI(Group_translate_ranks)(group, members->size, own.data(), whole, ranks.data());
  KIVIAT_PMPI(Group_free)(&whole);
  for (int& one : ranks) one = one == MPI_UNDEFINED ? -1 : one;
  members->base = ranks.empty() ? 0 : ranks[0];
  members->stride = ranks.size() > 1 ? ranks[1] - ranks[0] : 0;
  bool even = std::ranges::find(ranks, -1) == ranks.end();
  for (int at = 0; at < members->size && even; ++at)
    even = ranks[static_cast<std::size_t>(at)] == members->base + members->stride * at;
  if (!even) {
    members->table = new int[ranks.size()];
    std::ranges::copy(ranks, members->table);
  }
  for (int at = 0; at < members->size; ++at)
    if (at != rank) ++members->others[profiler().distance(members->of_world(at))];
  for (int distance = 0; distance < distances; ++distance)
    if (members->others[distance]) members->farthest = distance;
  return members;
}

}  // namespace

Members* learn(MPI_Comm comm) {
  const Learning guard;
  if (Members* known = profiler().communicators.find(key_of(comm))) return known;
  void* value = nullptr;
  int found = 0;
  KIVIAT_PMPI(Comm_get_attr)(comm, communicator_key(), &value, &found);
  if (!found) {
    int other_side = 0, rank = -1;
    KIVIAT_PMPI(Comm_test_inter)(comm, &other_side);
    MPI_Group group;
    if (other_side) {
      KIVIAT_PMPI(Comm_remote_group)(comm, &group);
    } else {
      KIVIAT_PMPI(Comm_group)(comm, &group);
      KIVIAT_PMPI(Comm_rank)(comm, &rank);
    }
    auto members = described(group, key_of(comm), rank);
    KIVIAT_PMPI(Group_free)(&group);
    if (!other_side) members->group = group_of(*members);
    KIVIAT_PMPI(Comm_set_attr)(comm, communicator_key(), members.get());
    value = members.release();
  }
  auto* const members = static_cast<Members*>(value);
  profiler().communicators.add(members);
  return members;
}

Members* learn_window(MPI_Win win) {
  const Learning guard;
  if (Members* known = profiler().windows.find(key_of(win))) return known;
  void* value = nullptr;
  int found = 0;
  KIVIAT_PMPI(Win_get_attr)(win, window_key(), &value, &found);
  if (!found) {
    MPI_Group group;
    int rank;
    KIVIAT_PMPI(Win_get_group)(win, &group);
    KIVIAT_PMPI(Group_rank)(group, &rank);
    auto members = described(group, key_of(win), rank);
    KIVIAT_PMPI(Group_free)(&group);
    KIVIAT_PMPI(Win_set_attr)(win, window_key(), members.get());
    value = members.release();
  }
  auto* const members = static_cast<Members*>(value);
  profiler().windows.add(members);
  return members;
}

void find_neighbours(Members& members, MPI_Comm comm) {
  const Learning guard;
  if (members.degree >= 0) return;
  const std::vector<int> to = neighbours_of(comm).to;
  members.neighbours = new int[to.size()];
  std::ranges::transform(to, members.neighbours, [&](int rank) {
    return rank == MPI_PROC_NULL ? int{Members::proc_null} : members.of_world(rank);
  });
  members.degree = static_cast<int>(to.size());
}

}  // namespace kiviat::prof
