#include "trace/event.hpp"

namespace kiviat::prof {

bool Event::on(Operation operation, Win win) {
  const auto found = recorder.wins.find(key_of(win.value));
  if (found == recorder.wins.end()) return ++recorder.header->unseen, false;
  recorder.begin_event(operation);
  recorder.stream.number(found->second);
  return true;
}

void Event::take(Buffer, Extent size, Extent unit, Ignored, Comm comm, NewWin made) {
  if (!on(Operation::win_create, comm)) return;
  recorder.stream.number(static_cast<Word>(size.value)), recorder.stream.number(static_cast<Word>(unit.value));
  recorder.stream.number(recorder.add_win(made.value()));
}

void Event::take(Extent size, Extent unit, Ignored info, Comm comm, Buffer base, NewWin made) {
  take(base, size, unit, info, comm, made);
}

// MPI_Win_create_dynamic cannot be replayed, because no memory is attached; its synchronisation matters for wait
// states.
void Event::take(Ignored info, Comm comm, NewWin made) {
  if (!recorder.stamps) return recorder.unsupported(call_);
  take(Buffer{}, Extent{0}, Extent{1}, info, comm, made);
}

void Event::prepare(NewWin win) {
  if (call_ == Call::Win_free && on(Operation::win_free, Win{win.value()})) recorder.remove_win(win.value());
}

void Event::take(Win win) {
  switch (call_) {
    case Call::Win_complete:
      on(Operation::win_complete, win);
      break;
    case Call::Win_wait:
      on(Operation::win_wait, win);
      break;
    case Call::Win_unlock_all:
      on(Operation::win_unlock_all, win);
      break;
    case Call::Win_flush_all:
    case Call::Win_flush_local_all:
      on(Operation::win_flush_all, win);
      break;
    default:
      break;  // MPI_Win_sync affects memory only
  }
}

void Event::take(Win win, Flag done) {
  if (done.is_true())
    on(Operation::win_wait, win);
  else
    recorder.polled();
}

void Event::take(Number number, Win win) {
  switch (call_) {
    case Call::Win_fence:
      on(Operation::win_fence, win);
      break;
    case Call::Win_lock_all:
      on(Operation::win_lock_all, win);
      break;
    default:
      if (on(call_ == Call::Win_unlock ? Operation::win_unlock : Operation::win_flush, win))
        recorder.stream.number(static_cast<Word>(number.value));
  }
}

void Event::take(Group group, Number, Win win) {
  if (!on(call_ == Call::Win_start ? Operation::win_start : Operation::win_post, win)) return;
  MPI_Group whole;
  KIVIAT_PMPI(Win_get_group)(win.value, &whole);
  ranks(members_within(group.value, whole));
}

void Event::take(Number kind, Number rank, Number, Win win) {
  if (!on(Operation::win_lock, win)) return;
  recorder.stream.number(kind.value == MPI_LOCK_EXCLUSIVE), recorder.stream.number(static_cast<Word>(rank.value));
}

void Event::remote(Operation operation, Win win, Number target, Count count, Type type, Requests requests) {
  if (!on(operation, win)) return;
  recorder.stream.signed_number(target.value == MPI_PROC_NULL ? trace::nobody : target.value);
  part(count, type), maybe(requests);
}

void Event::take(Buffer, Count count, Type type, Number target, Ignored, Count, Type, Win win, Requests requests) {
  const bool gets = call_ == Call::Get || call_ == Call::Rget;
  remote(gets ? Operation::get : Operation::put, win, target, count, type, requests);
}

void Event::take(Buffer, Count count, Type type, Number target, Ignored, Count, Type, Op, Win win, Requests requests) {
  remote(Operation::accumulate, win, target, count, type, requests);
}

// The result's count determines the size; the origin's count equals it, or is ignored with MPI_NO_OP.
void Event::take(Buffer, Count, Type, Buffer, Count count, Type type, Number target, Ignored, Count, Type, Op, Win win,
                 Requests requests) {
  remote(Operation::get_accumulate, win, target, count, type, requests);
}

void Event::take(Buffer, Buffer, Type type, Number target, Ignored, Op, Win win) {
  remote(Operation::fetch_and_op, win, target, {1}, type, {});
}

void Event::take(Buffer, Buffer, Buffer, Type type, Number target, Ignored, Win win) {
  remote(Operation::compare_and_swap, win, target, {1}, type, {});
}

}  // namespace kiviat::prof
