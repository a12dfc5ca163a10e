"""The profile of an MPI program, by rank and call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kiviat.profile.layout import DISTANCES, ROWS, TEXTS, Layout
from kiviat.profile.phases import RankPhases
from kiviat.profile.simulated import Simulated
from kiviat.profile.timeline import Timeline
from kiviat.profile.traffic import Traffic
from kiviat.profile.waits import Waits
from kiviat.record import InputError
from kiviat.record.units import counted, format_value
from kiviat.trace.json_object import MOST_DATE_S, printable

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_COUNTING, _ENDED = 1, 2
_OTHERS = "others"
_FILE = "MPI_File_"
_MOST_COUNTED = 2.0**62


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """A table with a line for each combination of rank, phase and call; arrays have one row per line.

    `calls`, `seconds` and `bytes` (sent) have the shape (lines, distances), in the order of DISTANCES; files
    of version 1 count messages to self as sent within a socket. `sizes`, shape (lines, classes), counts the
    messages of 0, 1, 2–3, 4–7, … B; a collective counts as one message of the rank's contribution.
    """

    rank: Integers
    phase: Integers
    name: NDArray[np.str_]
    calls: Integers
    seconds: Floats
    bytes: Integers
    messages: Integers
    longest_s: Floats
    sizes: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Traffic of collectives: a line for each rank and communicator with evenly spaced members.

    The rank gave each other member, base + k · stride for k < size, `messages` with `bytes`. `reduced` are
    bytes of contributions to allreduce and the like, of which each member gets 2 / size.
    """

    rank: Integers
    size: Integers
    base: Integers
    stride: Integers
    messages: Integers
    bytes: Integers
    reduced: Integers

    def traffic(self, ranks: int) -> Traffic:
        """Return messages and bytes by pair of ranks, sender first."""
        source, target, messages, sent = [], [], [], []
        each = self.each
        for line in range(len(self.rank)):
            size = int(self.size[line])
            members = self.base[line] + self.stride[line] * np.arange(size)
            others = members[members != self.rank[line]]
            source.append(np.full(len(others), self.rank[line]))
            target.append(others)
            messages.append(np.full(len(others), self.messages[line]))
            sent.append(np.full(len(others), each[line]))
        nothing = np.zeros(0, dtype=np.int64)
        columns = (np.concatenate([nothing, *parts]) for parts in (source, target, messages, sent))
        return Traffic.of_columns(ranks, *columns)

    @property
    def each(self) -> Integers:
        """Bytes to each other member."""
        return self.bytes + 2 * self.reduced // np.maximum(self.size, 1)

    @property
    def whole_bytes(self) -> int:
        """Bytes of all pairs, without the memory that `traffic` takes for each pair."""
        return int(((self.size - 1) * self.each).sum())


@dataclass(frozen=True, slots=True)
class Interfaces:
    """Bytes over a node's network interfaces from MPI_Init to MPI_Finalize, including other traffic."""

    node: int
    sent: int
    received: int


@dataclass(frozen=True, slots=True)
class Relatives:
    """Profiles of the ranks that started these, and of those that these started, with `covered` ranks."""

    parent: str | None = None
    children: tuple[str, ...] = ()
    covered: int = 0


@dataclass(frozen=True, eq=False)
class Profile:
    """The profile of a program.

    Arrays have one element per rank; missing facts are nan, -1 or absent, never 0.

    `node` numbers nodes by their first rank; `socket` is -1 if a rank may run on several. `seconds` last from
    the end of MPI_Init to the beginning of MPI_Finalize, or to the last recorded call, without the time for
    which MPI_Pcontrol(0) switched counting off. `threads` is the level that MPI_Init_thread provided,
    `thread_count` the number of threads that made calls, and `thread_s` the sum of their times: `seconds` of
    the first, likewise from first to last call of the others. `calls` has communication, `files` calls of
    MPI_File. `inside` names the call in which a rank was when it ended.

    `sent` has point-to-point and one-sided messages, `fetched` data from other ranks' windows, `collective`
    (the sum of `rows`, by pair, and `groups`) the contributions of collectives by definition, `crossed` the
    traffic that the MPI library itself counted, None if it does not count. `memory_bytes` is the profiler's
    memory in a rank without rows of the matrix. `waits` has wait states and `phases` measurements by phase,
    None if not requested. `simulated` describes the modelled machine, None on a real one. `parents` is the
    number of ranks that started these by MPI_Comm_spawn, 0 if the launcher did; `spawned` the number of
    processes that these started, and `relatives` the files with the profiles of both, if known.
    """

    path: str
    program: str
    library: str
    ranks: int
    seen: NDArray[np.bool_]
    ended: NDArray[np.bool_]
    node: Integers
    socket: Integers
    hosts: tuple[str, ...]
    cpus: tuple[str, ...]
    seconds: Floats
    threads: Integers
    thread_count: Integers
    thread_s: Floats
    started_s: int
    inside: Mapping[int, str]
    calls: Calls
    files: Calls
    sent: Traffic
    fetched: Traffic
    rows: Traffic
    groups: Groups
    crossed: Traffic | None
    interfaces: tuple[Interfaces, ...]
    memory_bytes: int
    remarks: tuple[str, ...]
    waits: Waits | None = None
    timeline: Timeline | None = None
    phases: tuple[RankPhases, ...] | None = None
    simulated: Simulated | None = None
    subject: str | None = None
    parents: int = 0
    spawned: int = 0
    relatives: Relatives = Relatives()

    @property
    def kinship(self) -> tuple[str, ...]:
        """Sentences about processes started by MPI_Comm_spawn: who started these, and whom these started."""
        told = []
        if self.parents:
            where = f"; their profile is {self.relatives.parent}" if self.relatives.parent else ""
            told.append(f"{counted(self.parents, 'rank')} started these by MPI_Comm_spawn{where}")
        if self.spawned:
            started = f"MPI_Comm_spawn started {counted(self.spawned, 'rank')}"
            covered = min(self.spawned, self.relatives.covered)
            if covered:
                files = " and ".join(self.relatives.children)
                told.append(f"{started}, {'all' if covered == self.spawned else covered} profiled in {files}")
            if missing := self.spawned - covered:
                left = "which are" if not covered else f"of which {missing} are"
                told.append(f"{started}, {left} not covered: they left no profile of their own")
        return tuple(told)

    @property
    def title(self) -> str:
        """What was profiled, and on how many ranks: "CG class A, 16 ranks"."""
        return f"{self.subject or self.program}, {counted(self.ranks, 'rank')}"

    def traffic(self, collectives: bool = True) -> Traffic:
        """Return the traffic matrix of messages, one-sided operations and, unless excluded, collectives."""
        parts = [self.sent, _turned(self.fetched)]
        return added(self.ranks, [*parts, self.collective] if collectives else parts)

    @cached_property
    def collective(self) -> Traffic:
        """The traffic of collectives: that known by pair and that of groups."""
        return added(self.ranks, [self.rows, self.groups.traffic(self.ranks)])

    @property
    def collective_pairs(self) -> int:
        """Upper bound of the number of entries of `collective`, which can be large for thousands of ranks."""
        return len(self.rows.source) + int((self.groups.size - 1).sum())

    @property
    def collective_bytes(self) -> int:
        """Bytes of `collective`, which need not be computed for that."""
        return int(self.rows.bytes.sum()) + self.groups.whole_bytes

    @property
    def mpi_s(self) -> Floats:
        """Seconds in MPI communication of each rank, summed over its threads; nan for missing ranks."""
        return self._spent(self.calls)

    @property
    def files_s(self) -> Floats:
        """Seconds in MPI file I/O of each rank, summed over its threads; nan for missing ranks."""
        return self._spent(self.files)

    def _spent(self, calls: Calls) -> Floats:
        spent = np.bincount(calls.rank, calls.seconds.sum(axis=1), minlength=self.ranks)
        return np.where(self.seen, spent, np.nan)

    @property
    def share(self) -> Floats:
        """Fraction of its threads' time that each rank spent in MPI, 0 … 1; nan if unknown."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.thread_s > 0, self.mpi_s / self.thread_s, np.nan)


def added(ranks: int, parts: Sequence[Traffic]) -> Traffic:
    """Return the sum of several matrices."""
    columns = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("source", "target", "messages", "bytes")
    )
    return Traffic.of_columns(ranks, *columns)


def _turned(fetched: Traffic) -> Traffic:
    """Return the transposed matrix: the rank that fetches receives."""
    return Traffic.of_columns(fetched.ranks, fetched.target, fetched.source, fetched.messages, fetched.bytes)


def assembled(
    layout: Layout, ranks: int, rank: Integers, place: Integers, value: NDArray[np.uint64], path: str
) -> Profile:
    """Return the profile of the nonzero words by rank, offset and value; ValueError if inconsistent."""
    header = _dense(rank, place, value, ranks, len(layout.fields))
    fields = {name: header[:, at] for name, at in layout.fields.items()}
    if not ((fields["started_s"] >= 0) & (fields["started_s"] <= MOST_DATE_S)).all():
        raise ValueError("its start time is impossible")
    seen = fields["stage"] > 0
    if not seen.any():
        raise InputError(f"{path} has no rank with data; profile the program again")
    with np.errstate(invalid="ignore", divide="ignore"):
        tick_s: Floats = np.where(
            fields["counter"] > 0,
            (fields["last_ns"] - fields["first_ns"]) / (fields["last_ticks"] - fields["first_ticks"]) * 1e-9,
            1e-9,
        )
    # Uses the last reading of both clocks, or the end of a later call.
    latest = np.maximum(fields["last_ticks"], fields["latest"])
    # Earlier files lack the time switched off, and files of version 1 the number of threads.
    none = np.zeros(ranks, dtype=np.int64)
    off_ticks = fields.get("off_ticks", none)
    seconds = np.where(seen, (latest - fields["first_ticks"] - off_ticks) * tick_s, np.nan)
    if (seconds < 0).any() or np.isinf(seconds).any():
        raise ValueError("a rank ended before it began")
    texts = {name: _texts(rank, place, value, ranks, *layout.texts[name]) for name in TEXTS}
    rows = [_row(rank, place, value, layout.rows_at + 2 * ranks * row, ranks) for row in range(layout.rows)]
    row = dict(zip(ROWS, rows, strict=True))
    groups = _groups(layout, ranks, rank, place, value)
    calls, files = _calls(layout, rank, place, value, tick_s)
    others, other_ticks = fields.get("other_threads", none), fields.get("other_ticks", none)
    thread_s: Floats = seconds + other_ticks * tick_s
    if "other_ticks" not in fields:
        spent = np.bincount(calls.rank, calls.seconds.sum(axis=1), minlength=ranks)
        thread_s = np.where(spent > thread_s, np.nan, thread_s)
    _refuse_too_much([*rows, calls, files], groups)
    node = _numbered(fields["node"], seen)
    first = int(np.argmax(seen))
    return Profile(
        path=path,
        program=texts["program"][first],
        library=texts["library"][first],
        ranks=ranks,
        seen=seen,
        ended=fields["stage"] == _ENDED,
        node=node,
        socket=np.where(seen, fields["socket"] - 1, -1),
        hosts=texts["host"],
        cpus=texts["cpus"],
        seconds=seconds,
        threads=np.where(seen, fields["threads"], -1),
        thread_count=np.where(seen, 1 + others, -1),
        thread_s=thread_s,
        started_s=int(fields["started_s"][first]),
        inside={
            int(rank): _call(layout, int(fields["inside"][rank]) - 1)
            for rank in np.flatnonzero((fields["inside"] > 0) & (fields["stage"] == _COUNTING))
        },
        calls=calls,
        files=files,
        sent=row["sent"],
        fetched=row["fetched"],
        rows=row["collective"],
        groups=groups,
        crossed=row["crossed"] if (fields["crossing"] > 0).any() else None,
        interfaces=tuple(
            Interfaces(
                int(node[rank]),
                int(fields["sent_after"][rank] - fields["sent_before"][rank]),
                int(fields["received_after"][rank] - fields["received_before"][rank]),
            )
            for rank in np.flatnonzero((fields["interfaces"] > 0) & (fields["stage"] == _ENDED))
        ),
        memory_bytes=int(fields["resident"].max()),
        parents=int(fields.get("parents", none).max()),
        spawned=int(fields.get("spawned", none).sum()),
        remarks=(*_switched_off((off_ticks * tick_s)[seen]), *_remarks(fields, seen)),
    )


def _dense(rank: Integers, place: Integers, value: NDArray[np.uint64], ranks: int, words: int) -> Integers:
    """Return the first `words` words of every rank, shape (ranks, words)."""
    within = (place >= 0) & (place < words)
    table = np.zeros((ranks, words), dtype=np.int64)
    table[rank[within], place[within]] = value[within].astype(np.int64)
    return table


def _records(
    rank: Integers, place: Integers, value: NDArray[np.uint64], begin: int, count: int, words: int
) -> tuple[Integers, Integers]:
    """Return the rank and the `words` words of each record whose first word is not 0."""
    within = (place >= begin) & (place < begin + count * words)
    owner, at, known = rank[within], place[within] - begin, value[within].astype(np.int64)
    record = owner * count + at // words
    used, line = np.unique(record, return_inverse=True)
    table = np.zeros((len(used), words), dtype=np.int64)
    table[line, at % words] = known
    kept = table[:, 0] != 0
    return used[kept] // count, table[kept]


def _calls(
    layout: Layout, rank: Integers, place: Integers, value: NDArray[np.uint64], tick_s: Floats
) -> tuple[Calls, Calls]:
    """Return the calls of communication and those of file I/O."""
    owner, table = _records(rank, place, value, layout.slots_at, layout.slots, layout.slot_words)
    if (table < 0).any():
        raise ValueError("a call has an impossible count")
    key, wide = table[:, 0] - 1, len(layout.distances)
    # key, calls, ticks, bytes, messages, longest, sizes
    calls, ticks, sent = (
        np.pad(table[:, 1 + wide * part : 1 + wide * (part + 1)], ((0, 0), (len(DISTANCES) - wide, 0)))
        for part in range(3)
    )
    after = 1 + 3 * wide
    names = [_call(layout, int(one)) for one in key % 256]
    every = Calls(
        rank=owner,
        phase=key // 256,
        name=np.array(names, dtype=np.str_),
        calls=calls,
        seconds=np.nan_to_num(ticks * tick_s[owner, np.newaxis]),
        bytes=sent,
        messages=table[:, after],
        longest_s=np.nan_to_num(table[:, after + 1] * tick_s[owner]),
        sizes=table[:, after + 2 : after + 2 + layout.size_classes],
    )
    of_files = np.char.startswith(every.name, _FILE) if names else np.zeros(0, dtype=np.bool_)
    return _chosen(every, ~of_files), _chosen(every, of_files)


def _chosen(calls: Calls, lines: NDArray[np.bool_]) -> Calls:
    return Calls(*(getattr(calls, name)[lines] for name in Calls.__slots__))


def _groups(layout: Layout, ranks: int, rank: Integers, place: Integers, value: NDArray[np.uint64]) -> Groups:
    owner, table = _records(rank, place, value, layout.groups_at, layout.groups, layout.group_words)
    groups = Groups(owner, *table.T[:6])
    known = (groups.size > 0) & (groups.size <= ranks) & (np.abs(groups.stride) <= ranks)
    first, last = groups.base, groups.base + groups.stride * np.where(known, groups.size - 1, 0)
    for member in (first, last):
        known &= (member >= 0) & (member < ranks)
    if not known.all() or (table[:, 3:] < 0).any():
        raise ValueError(f"a communicator has members outside of {ranks} ranks, or a negative count")
    return groups


def _refuse_too_much(parts: Sequence[Traffic | Calls], groups: Groups) -> None:
    """Raise ValueError if sums of bytes and messages could exceed 64 bits."""
    each = groups.messages + groups.bytes.astype(np.float64)
    to_others = each * groups.size + 2.0 * groups.reduced
    sums = [float(amount.sum(dtype=np.float64)) for part in parts for amount in (part.messages, part.bytes)]
    if sum(sums) + float(to_others.sum()) > _MOST_COUNTED:
        raise ValueError("the traffic is too large to be counted")


def _row(rank: Integers, place: Integers, value: NDArray[np.uint64], begin: int, ranks: int) -> Traffic:
    within = (place >= begin) & (place < begin + 2 * ranks)
    at, known = place[within] - begin, value[within].astype(np.int64)
    messages, sent = np.where(at % 2 == 0, known, 0), np.where(at % 2 == 1, known, 0)
    return Traffic.of_columns(ranks, rank[within], at // 2, messages, sent)


def _call(layout: Layout, number: int) -> str:
    return f"MPI_{layout.calls[number]}" if number < len(layout.calls) else _OTHERS


def _texts(
    rank: Integers, place: Integers, value: NDArray[np.uint64], ranks: int, begin: int, length: int
) -> tuple[str, ...]:
    """Return the text of each rank, eight bytes a word up to the first zero; equal ones are decoded once."""
    within = (place >= begin) & (place < begin + length)
    owners, line = np.unique(rank[within], return_inverse=True)
    words = np.zeros((len(owners), length), dtype="<u8")
    words[line.reshape(-1), place[within] - begin] = value[within]
    decoded: dict[bytes, str] = {}
    texts = [""] * ranks
    for owner, letters in zip(owners.tolist(), map(bytes, words), strict=True):
        if letters not in decoded:
            decoded[letters] = printable(letters.partition(b"\0")[0].decode(errors="replace"))
        texts[owner] = decoded[letters]
    return tuple(texts)


def _numbered(identities: Integers, seen: NDArray[np.bool_]) -> Integers:
    """Return node numbers in the order of first ranks, -1 for missing ranks."""
    numbers: dict[int, int] = {}
    return np.array(
        [
            numbers.setdefault(int(identity), len(numbers)) if here else -1
            for identity, here in zip(identities, seen, strict=True)
        ],
        dtype=np.int64,
    )


def _switched_off(off_s: Floats) -> list[str]:
    """Return a remark on the seconds for which MPI_Pcontrol(0) switched counting off, by rank, if any."""
    most_s = float(off_s.max())
    if not most_s > 0:
        return []
    return [
        f"{int((off_s > 0).sum())} of {len(off_s)} ranks: MPI_Pcontrol switched counting off, for up to "
        f"{format_value(most_s, 's')}, which is left out of all times and shares"
    ]


def _remarks(fields: Mapping[str, Integers], seen: NDArray[np.bool_]) -> list[str]:
    """Return remarks on incomplete counts, with the number of ranks affected."""
    kinds = {
        "lost_slots": "too many combinations of phases and calls; some are counted together as others",
        "lost_persistent": "too many persistent sends; starts of some are not counted",
        "unseen_sends": "starts of some requests, such as those of mpix_… calls, are counted without bytes",
        "in_memory": "counted in memory for lack of a file; a crash would have lost the counts",
    }
    remarks = []
    for name, words in kinds.items():
        if (count := int((fields[name] > 0).sum())) > 0:
            remarks.append(f"{count} of {int(seen.sum())} ranks: {words}")
    return remarks
