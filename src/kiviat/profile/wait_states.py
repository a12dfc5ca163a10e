"""Post-mortem detection of wait states in the times of all calls.

A call waits from its start until the other side arrives: until a message is sent (late sender), until its
receive is posted (late receiver, unless the send returned before), or until the root of a collective, or the
last rank whose contribution it needs, enters it. These are the wait states of Wolf and Mohr ("Automatic
performance analysis of hybrid MPI/OpenMP applications", J. Systems Architecture 49, 2003). A call that waits
for several ranks is attributed to the last events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kiviat.profile.timeline import Timeline, timeline_of
from kiviat.profile.waits import KINDS, EachWait, Waits
from kiviat.trace.rank_events import CollectiveKind, Messages, RankEvents
from kiviat.trace.stamps import Recording, read_stamps

Integers = NDArray[np.int64]

_LATE_SENDER, _LATE_RECEIVER, _LATE_ROOT, _EARLY_ROOT, _IMBALANCE = range(len(KINDS))


@dataclass(frozen=True, slots=True, eq=False)
class _Ends:
    """Candidate waits.

    Index of the call among those of all ranks, arrival of the other side in ns, kind, other rank.
    """

    call: Integers
    time_ns: Integers
    kind: Integers
    cause: Integers


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Messages of all ranks.

    `began` and `done` are indices of calls among those of all ranks, -1 for none; of probes, `began` is the
    number of receives posted before.
    """

    comm: Integers
    source: Integers
    target: Integers
    tag: Integers
    began: Integers
    done: Integers


def waits_in(folder: Path) -> tuple[Waits, Timeline | None]:
    """Return the wait states of the recording in `folder` and when they were.

    Without any, the former has the reason, and the latter is None.
    """
    recording = read_stamps(folder)
    if recording is None:
        return Waits.none("no rank recorded the times of its calls"), None
    if recording.refusal:
        return Waits.none(recording.refusal), None
    waits = each_wait(recording)
    return summed(recording, waits), timeline_of(recording, waits)


def wait_states(recording: Recording) -> Waits:
    """Return the wait states of a recording, summed by rank, call, kind and cause."""
    return summed(recording, each_wait(recording))


def each_wait(recording: Recording) -> EachWait:
    """Return the wait states of a recording, one by one."""
    each = recording.each
    first = np.cumsum([0, *(len(events.call) for events in each)])
    entered = np.concatenate([events.entered_ns for events in each])
    left = np.concatenate([events.left_ns for events in each])
    owner = np.repeat([events.rank for events in each], np.diff(first))
    sends, receipts, probes = (
        _rows([(events, getattr(events, name)) for events in each], first, name)
        for name in ("sends", "receipts", "probes")
    )
    received, probed = _paired(sends, receipts, probes)
    late_senders = _late_senders(sends, receipts, received, entered)
    late_receivers = _late_receivers(sends, receipts, received, entered, left)
    ends = _joined(
        [
            _without_exchanges(late_receivers, late_senders, recording.ranks),
            late_senders,
            _late_senders(sends, probes, probed, entered),
            *_collectives(recording, first, entered, left),
        ]
    )
    # A call waits for the last of its candidates.
    order = np.lexsort((ends.time_ns, ends.call))
    last = order[np.append(ends.call[order][1:] != ends.call[order][:-1], True)] if order.size else order
    call, cause, kind = ends.call[last], ends.cause[last], ends.kind[last]
    waited = np.minimum(ends.time_ns[last], left[call]) - entered[call]
    error = _errors(recording)(owner[call], cause)
    counted = np.concatenate([events.counted for events in each])
    kept = (waited > error) & counted[call]  # shorter waits are within the error of clocks
    numbers = np.concatenate([events.call for events in each])[call]
    missing = len(receipts.comm) - len(received[0])
    lost = [f"{missing} receives match no recorded send"] if missing else []
    return EachWait(
        owner[call][kept],
        cause[kept],
        numbers[kept],
        kind[kept],
        entered[call][kept],
        waited[kept],
        error[kept],
        (ends.time_ns[last] < left[call])[kept],
        int(counted.sum()),
        (*recording.remarks, *lost),
    )


def _rows(each: Sequence[tuple[RankEvents, Messages]], first: Integers, name: str) -> _Rows:
    columns = {name: [getattr(events, name) for _, events in each] for name in ("comm", "peer", "tag")}
    comm, peer, tag = (np.concatenate(parts) for parts in columns.values())
    own = np.repeat([events.rank for events, _ in each], [len(messages.comm) for _, messages in each])
    starts = first if name != "probes" else np.zeros_like(first)
    began = np.concatenate([events.began + begin for begin, (_, events) in zip(starts, each, strict=False)])
    done = np.concatenate(
        [
            np.where(events.done < 0, -1, events.done + begin)
            for begin, (_, events) in zip(first, each, strict=False)
        ]
    )
    source, target = (own, peer) if name == "sends" else (peer, own)
    return _Rows(comm, source, target, tag, began, done)


_Pairs = tuple[Integers, Integers]


def _paired(sends: _Rows, receipts: _Rows, probes: _Rows) -> tuple[_Pairs, _Pairs]:
    """Return indices of sends and matching receives, and of sends and matching probes.

    MPI matches messages of a communicator, source, target and tag in the order of sends and of posted
    receives: messages do not overtake.
    """
    parts = (sends, receipts, probes)
    comm, source, target, tag = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("comm", "source", "target", "tag")
    )
    which = np.repeat([0, 1, 2], [len(part.comm) for part in parts])
    order = np.lexsort((which, tag, target, source, comm))
    if not order.size:
        nothing = np.zeros(0, dtype=np.int64)
        return (nothing, nothing), (nothing, nothing)
    changes = np.zeros(len(order), dtype=np.bool_)
    for column in (comm, source, target, tag):
        changes[1:] |= column[order][1:] != column[order][:-1]
    channel = np.cumsum(changes)
    begin = np.flatnonzero(np.append(True, changes[1:]))
    sorted_which = which[order]
    sent = np.bincount(channel[sorted_which == 0], minlength=len(begin))

    def with_sends(kind: int, nth: Integers, here: Integers) -> _Pairs:
        of = channel[here]
        there = nth < sent[of]
        before = np.searchsorted(which, kind)
        return order[begin[of][there] + nth[there]], order[here][there] - before

    receiving, probing = (np.flatnonzero(sorted_which == kind) for kind in (1, 2))
    of = channel[receiving]
    seen = probes.began[order[probing] - len(sends.comm) - len(receipts.comm)]
    return (
        with_sends(1, receiving - begin[of] - sent[of], receiving),
        with_sends(2, seen, probing),
    )


def _late_senders(sends: _Rows, receipts: _Rows, pairs: _Pairs, entered: Integers) -> _Ends:
    sent, got = pairs
    kept = receipts.done[got] >= 0
    sent, got = sent[kept], got[kept]
    return _Ends(
        receipts.done[got],
        entered[sends.began[sent]],
        np.full(len(got), _LATE_SENDER),
        sends.source[sent],
    )


def _late_receivers(sends: _Rows, receipts: _Rows, pairs: _Pairs, entered: Integers, left: Integers) -> _Ends:
    """Return the waits of sends for receives; a send that returned before its receive was buffered."""
    sent, got = pairs
    kept = sends.done[sent] >= 0
    sent, got = sent[kept], got[kept]
    posted = entered[receipts.began[got]]
    kept = left[sends.done[sent]] > posted
    sent, got = sent[kept], got[kept]
    return _Ends(
        sends.done[sent],
        posted[kept],
        np.full(len(got), _LATE_RECEIVER),
        receipts.target[got],
    )


def _collectives(recording: Recording, first: Integers, entered: Integers, left: Integers) -> Iterator[_Ends]:
    """Yield the waits in collectives that all members entered.

    A call that returned before the other rank entered has not waited for it.
    """
    each = recording.each
    counts = [len(events.meetings.comm) for events in each]
    if not sum(counts):
        return
    comm, number, kind, root = (
        np.concatenate([getattr(events.meetings, name) for events in each])
        for name in ("comm", "number", "kind", "root")
    )
    rank = np.repeat([events.rank for events in each], counts)
    own = np.concatenate([np.arange(count) for count in counts])
    begin = np.repeat(first[:-1], counts)
    began, done = (
        np.concatenate([getattr(events.meetings, name) for events in each]) for name in ("began", "done")
    )
    time = entered[begin + began]
    call = np.where(done < 0, -1, begin + done)
    size = np.array([len(members) for members in recording.communicators.members])
    # By communicator and number, then by arrival.
    order = np.lexsort((time, number, comm))
    edge = np.append(True, (comm[order][1:] != comm[order][:-1]) | (number[order][1:] != number[order][:-1]))
    group = np.cumsum(edge) - 1
    here = np.bincount(group)
    latest = order[np.cumsum(here) - 1][group]
    whole = (here == size[comm[order[edge]]])[group] & (call[order] >= 0)
    sorted_kind, is_root = kind[order], rank[order] == root[order]
    roots = np.full(len(here), -1)
    roots[group[is_root]] = order[is_root]

    error_of = _errors(recording)

    def in_time(member: Integers, other: Integers) -> NDArray[np.bool_]:
        kept: NDArray[np.bool_] = time[other] <= left[call[member]] + error_of(rank[member], rank[other])
        return kept

    def ends(chosen: NDArray[np.bool_], cause: Integers, state: int) -> _Ends:
        member, other = order[chosen], cause[chosen]
        kept = in_time(member, other)
        member, other = member[kept], other[kept]
        return _Ends(call[member], time[other], np.full(len(member), state), rank[other])

    everybody = whole & (sorted_kind == CollectiveKind.ALL)
    yield ends(everybody, latest, _IMBALANCE)
    to_root = whole & (sorted_kind == CollectiveKind.TO_ROOT) & is_root
    yield ends(to_root, latest, _EARLY_ROOT)
    from_root = whole & (sorted_kind == CollectiveKind.FROM_ROOT) & ~is_root & (roots[group] >= 0)
    yield ends(from_root, roots[group], _LATE_ROOT)
    # The last of all came too late for these, so they waited for the last of the others, if for any.
    too_late = everybody | to_root
    too_late[too_late] = ~in_time(order[too_late], latest[too_late])
    some = whole & ((sorted_kind == CollectiveKind.SCAN) | (sorted_kind == CollectiveKind.NEIGHBOURS))
    cause, starts = np.full(len(order), -1), np.flatnonzero(edge)
    place = {rank: at for at, rank in enumerate(events.rank for events in each)}
    for at in np.flatnonzero(some | too_late).tolist():
        member = int(order[at])
        members = order[starts[group[at]] :][: here[group[at]]]
        needed = _needed(recording, each[place[int(rank[member])]], int(own[member]))
        others = members[np.isin(rank[members], needed)]
        others = others[in_time(np.full(len(others), member), others)]
        if others.size:
            cause[at] = others[np.argmax(time[others])]
    yield ends((some | too_late) & ~to_root & (cause >= 0), cause, _IMBALANCE)
    yield ends(to_root & (cause >= 0), cause, _EARLY_ROOT)


def _needed(recording: Recording, events: RankEvents, meeting: int) -> Sequence[int]:
    """Return the ranks that a rank's collective waits for, in order of a communicator or of messages."""
    kind = events.meetings.kind[meeting]
    if kind == CollectiveKind.NEIGHBOURS:
        return events.sources[meeting]
    members = recording.communicators.members[int(events.meetings.comm[meeting])]
    return members[: members.index(events.rank)] if kind == CollectiveKind.SCAN else members


def _without_exchanges(late_receivers: _Ends, late_senders: _Ends, ranks: int) -> _Ends:
    """Return `late_receivers` without calls that also wait for a message from the same rank."""
    there, exchanged = (ends.call * ranks + ends.cause for ends in (late_receivers, late_senders))
    kept = ~np.isin(there, exchanged)
    return _Ends(*(getattr(late_receivers, name)[kept] for name in _Ends.__slots__))


def _joined(parts: Sequence[_Ends]) -> _Ends:
    columns = (np.concatenate([getattr(part, name) for part in parts]) for name in _Ends.__slots__)
    return _Ends(*columns)


def _errors(recording: Recording) -> Callable[[Integers, Integers], Integers]:
    """Return a function of waiting ranks and their causes: clock errors in ns, 0 for ranks of one clock."""
    error = np.zeros(recording.ranks)
    clock = np.zeros(recording.ranks, dtype=np.uint64)
    for events in recording.each:
        error[events.rank], clock[events.rank] = events.clock.error_ns, events.clock_of

    def errors(rank: Integers, cause: Integers) -> Integers:
        apart = clock[rank] != clock[cause]
        return np.where(apart, np.ceil(error[rank] + error[cause]), 0).astype(np.int64)

    return errors


def summed(recording: Recording, waits: EachWait) -> Waits:
    """Return waits summed by rank, call, kind and cause."""
    names = np.array([f"MPI_{name}" for name in recording.names])
    lines, line = np.unique(
        np.stack((waits.rank, waits.call, waits.kind, waits.cause), axis=1), axis=0, return_inverse=True
    )
    line = line.reshape(-1)
    longest = np.zeros(len(lines))
    np.maximum.at(longest, line, waits.waited_ns)
    seconds, error = (
        np.bincount(line, 1e-9 * of, minlength=len(lines)).astype(np.float64)
        for of in (waits.waited_ns, waits.error_ns)
    )
    return Waits(
        lines[:, 0],
        lines[:, 3],
        names[lines[:, 1]],
        np.array(KINDS)[lines[:, 2]],
        np.bincount(line, minlength=len(lines)).astype(np.int64),
        seconds,
        1e-9 * longest,
        error,
        len({events.clock_of for events in recording.each}),
        waits.recorded,
        waits.remarks,
    )
