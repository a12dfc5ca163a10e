#include "trace/replay/rank.hpp"
#include "trace/replay/scratch.hpp"

namespace kiviat::trace {

void Rank::window(Operation operation) {
  if (operation == Operation::win_free) {
    MPI_Win_free(&wins_.at(stream_.number()));
    return;
  }
  const MPI_Comm over = comm();
  const Word bytes = stream_.number(), unit = stream_.number(), number = stream_.number();
  if (number >= wins_.size()) wins_.resize(number + 1, MPI_WIN_NULL);
  MPI_Win_create(scratch(bytes), static_cast<MPI_Aint>(bytes), static_cast<int>(unit), MPI_INFO_NULL, over, &wins_[number]);
}

void Rank::remote(Operation operation) {
  const MPI_Win win = wins_.at(stream_.number());
  const int target = peer();
  const auto [count, type, bytes] = part();
  MPI_Request* const request = pending();
  if (target == MPI_PROC_NULL) return;
  const auto [here, result] = scratch(bytes, bytes);
  switch (operation) {
    case Operation::put:
      request ? MPI_Rput(here, count, type, target, 0, count, type, win, request)
              : MPI_Put(here, count, type, target, 0, count, type, win);
      break;
    case Operation::get:
      request ? MPI_Rget(here, count, type, target, 0, count, type, win, request)
              : MPI_Get(here, count, type, target, 0, count, type, win);
      break;
    case Operation::accumulate:
      request ? MPI_Raccumulate(here, count, type, target, 0, count, type, MPI_REPLACE, win, request)
              : MPI_Accumulate(here, count, type, target, 0, count, type, MPI_REPLACE, win);
      break;
    case Operation::get_accumulate:
      request ? MPI_Rget_accumulate(here, count, type, result, count, type, target, 0, count, type, MPI_REPLACE, win, request)
              : MPI_Get_accumulate(here, count, type, result, count, type, target, 0, count, type, MPI_REPLACE, win);
      break;
    case Operation::fetch_and_op: MPI_Fetch_and_op(here, result, type, target, 0, MPI_REPLACE, win); break;
    default: MPI_Compare_and_swap(here, here, result, type, target, 0, win);
  }
}

void Rank::synchronise(Operation operation) {
  const MPI_Win win = wins_.at(stream_.number());
  switch (operation) {
    case Operation::win_fence: MPI_Win_fence(0, win); break;
    case Operation::win_complete: MPI_Win_complete(win); break;
    case Operation::win_wait: MPI_Win_wait(win); break;
    case Operation::win_lock_all: MPI_Win_lock_all(0, win); break;
    case Operation::win_unlock_all: MPI_Win_unlock_all(win); break;
    case Operation::win_flush_all: MPI_Win_flush_all(win); break;
    case Operation::win_unlock: MPI_Win_unlock(stream_.whole(), win); break;
    case Operation::win_flush: MPI_Win_flush(stream_.whole(), win); break;
    case Operation::win_lock: {
      const int kind = stream_.number() ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
      MPI_Win_lock(kind, stream_.whole(), 0, win);
      break;
    }
    default: {
      const std::vector<int> members = ranks();
      MPI_Group all, some;
      MPI_Win_get_group(win, &all);
      MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some);
      operation == Operation::win_start ? MPI_Win_start(some, 0, win) : MPI_Win_post(some, 0, win);
      MPI_Group_free(&some);
    }
  }
}

}  // namespace kiviat::trace
