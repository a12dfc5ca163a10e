#include "trace/replay/rank.hpp"
#include "trace/replay/scratch.hpp"

namespace kiviat::trace {

Rank::Window& Rank::window() {
  const Word number = stream_.number();
  const auto found = wins_.find(number);
  if (found == wins_.end()) stream_.refuse("window " + std::to_string(number) + " does not exist");
  return found->second;
}

void Rank::window(Operation operation) {
  if (operation == Operation::win_free) {
    const Window& freed = window();
    MPI_Win win = freed.win;
    std::erase_if(wins_, [&](const auto& one) { return &one.second == &freed; });
    MPI_Win_free(&win);
    return;
  }
  const MPI_Comm over = comm();
  const Word size = bytes(1, stream_.number());
  const int unit = stream_.whole(INT32_MAX, "the unit of displacements");
  const Word number = stream_.number();
  if (wins_.contains(number)) stream_.refuse("window " + std::to_string(number) + " already exists");
  Window& made = wins_[number] = {.ranks = size_of(over)};
  MPI_Win_create(scratch(size), static_cast<MPI_Aint>(size), unit, MPI_INFO_NULL, over, &made.win);
}

void Rank::remote(Operation operation) {
  const Window& with = window();
  const MPI_Win win = with.win;
  const int target = peer(with.ranks, From::one);
  const auto [count, type, bytes] = part();
  MPI_Request* const request = pending();
  if (target == MPI_PROC_NULL) return;
  // The simulator does not check the size of the single element; 64 bytes exceed every predefined MPI type.
  const bool single = operation == Operation::fetch_and_op || operation == Operation::compare_and_swap;
  if (single && (bytes == 0 || bytes > 64))
    stream_.refuse("an atomic operation on " + std::to_string(bytes) + " B is impossible: at most 64 B");
  const auto [here, result] = scratch(bytes, bytes);
  constexpr std::size_t most_copied = std::size_t{64} << 10;
  switch (operation) {
    case Operation::put:
    case Operation::accumulate:
      request ? MPI_Rput(here, count, type, target, 0, count, type, win, request)
              : MPI_Put(here, count, type, target, 0, count, type, win);
      break;
    case Operation::get:
      request ? MPI_Rget(here, count, type, target, 0, count, type, win, request)
              : MPI_Get(here, count, type, target, 0, count, type, win);
      break;
    case Operation::get_accumulate:
      // SimGrid copies the payload of accumulate operations, so large ones are replayed as get and put.
      if (bytes > most_copied) {
        MPI_Get(result, count, type, target, 0, count, type, win);
        request ? MPI_Rput(here, count, type, target, 0, count, type, win, request)
                : MPI_Put(here, count, type, target, 0, count, type, win);
        break;
      }
      request ? MPI_Rget_accumulate(here, count, type, result, count, type, target, 0, count, type, MPI_REPLACE, win,
                                    request)
              : MPI_Get_accumulate(here, count, type, result, count, type, target, 0, count, type, MPI_REPLACE, win);
      break;
    case Operation::fetch_and_op:
      MPI_Fetch_and_op(here, result, element(bytes), target, 0, MPI_REPLACE, win);
      break;
    default:
      MPI_Compare_and_swap(here, here, result, element(bytes), target, 0, win);
  }
}

void Rank::synchronise(Operation operation) {
  Window& with = window();
  const MPI_Win win = with.win;
  const auto rank = [&] { return stream_.whole(with.ranks - 1, "the rank"); };
  const auto open = [&](bool& opened, bool then) {
    if (opened == then)
      stream_.refuse(then ? "a window epoch is opened while one is open"
                          : "a window epoch is closed while none is open");
    opened = then;
  };
  switch (operation) {
    case Operation::win_fence:
      MPI_Win_fence(0, win);
      break;
    case Operation::win_complete:
      open(with.started, false), MPI_Win_complete(win);
      break;
    case Operation::win_wait:
      open(with.posted, false), MPI_Win_wait(win);
      break;
    case Operation::win_lock_all:
      MPI_Win_lock_all(0, win);
      break;
    case Operation::win_unlock_all:
      MPI_Win_unlock_all(win);
      break;
    case Operation::win_flush_all:
      MPI_Win_flush_all(win);
      break;
    case Operation::win_unlock:
      MPI_Win_unlock(rank(), win);
      break;
    case Operation::win_flush:
      MPI_Win_flush(rank(), win);
      break;
    case Operation::win_lock: {
      const int kind = stream_.number() ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
      MPI_Win_lock(kind, rank(), 0, win);
      break;
    }
    default: {
      const std::vector<int> members = ranks(with.ranks);
      const bool starts = operation == Operation::win_start;
      open(starts ? with.started : with.posted, true);
      MPI_Group all, some;
      MPI_Win_get_group(win, &all);
      MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some);
      starts ? MPI_Win_start(some, 0, win) : MPI_Win_post(some, 0, win);
      MPI_Group_free(&some);
    }
  }
}

}  // namespace kiviat::trace
