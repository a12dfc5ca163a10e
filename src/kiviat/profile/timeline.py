"""What ranks did over time: shares of intervals outside of MPI, in MPI and waiting, and the longest waits."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kiviat.profile.waits import KINDS, EachWait
from kiviat.record.units import format_bytes
from kiviat.trace.json_object import JsonObject, parsed
from kiviat.trace.rank_events import Integers
from kiviat.trace.stamps import Recording

Floats = NDArray[np.float64]

MOST_ROWS = 64
_MOST_INTERVALS = 240
_MOST_WAITS = 200
_LEVELS = 255  # of a share
_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class LongWait:
    """One of the longest waits: `rank` waits for `cause` in `call`, in seconds from the start."""

    rank: int
    cause: int
    call: str
    kind: str
    begin_s: float
    end_s: float


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Time from the first MPI call of any rank after MPI_Init to the last, in equal intervals.

    `in_mpi` and `waiting`, shape (rows, intervals), are shares of the interval, 0 … 1; waiting is a part
    of the time in MPI. A row has `block` ranks, the last one perhaps fewer. `longest` is in order of time;
    `waits` is the number of all.
    """

    ranks: int
    block: int
    elapsed_s: float
    in_mpi: Floats
    waiting: Floats
    longest: tuple[LongWait, ...]
    waits: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.in_mpi)

    def name(self, row: int) -> str:
        """Return the ranks of a row: "7" or "8–15"."""
        first, last = row * self.block, min(self.ranks, (row + 1) * self.block) - 1
        return str(first) if first == last else f"{first}–{last}"


def timeline_of(recording: Recording, waits: EachWait) -> Timeline | None:
    """Return the timeline of a recording; None if no rank called MPI."""
    each = [events for events in recording.each if events.call.size]
    if not each:
        return None
    start = min(int(events.entered_ns[0]) for events in each)
    end = max(int(events.left_ns.max()) for events in each)
    ranks, elapsed = recording.ranks, max(end - start, 1)
    block = -(-ranks // MOST_ROWS)
    rows, count = -(-ranks // block), min(_MOST_INTERVALS, elapsed)
    edges = np.linspace(0.0, elapsed, count + 1)
    members = np.bincount(np.arange(ranks) // block, minlength=rows)[:, None] * (elapsed / count)

    def shares(rank: Integers, begin: Integers, until: Integers) -> Floats:
        covered = _covered(rank // block, begin - start, until - start, edges, rows)
        return np.clip(covered / members, 0.0, 1.0)

    owner = np.repeat([events.rank for events in each], [len(events.call) for events in each])
    entered = np.concatenate([events.entered_ns for events in each])
    left = np.concatenate([events.left_ns for events in each])
    in_mpi = shares(owner, entered, left)
    ends = waits.entered_ns + waits.waited_ns
    waiting = np.minimum(shares(waits.rank, waits.entered_ns, ends), in_mpi)
    most = np.argsort(-waits.waited_ns, kind="stable")[:_MOST_WAITS]
    most = most[np.argsort(waits.entered_ns[most], kind="stable")]
    longest = tuple(
        LongWait(
            int(waits.rank[at]),
            int(waits.cause[at]),
            f"MPI_{recording.names[int(waits.call[at])]}",
            KINDS[int(waits.kind[at])],
            1e-9 * int(waits.entered_ns[at] - start),
            1e-9 * int(ends[at] - start),
        )
        for at in most.tolist()
    )
    return Timeline(ranks, block, 1e-9 * elapsed, in_mpi, waiting, longest, len(waits.rank))


def _covered(row: Integers, begin: Integers, end: Integers, edges: Floats, rows: int) -> Floats:
    """Return the time that spans from `begin` to `end` cover, shape (rows, intervals).

    The time from a moment t to the edge e is e − t, so that sums over all earlier moments give the time from
    these to each edge; the difference of begins and ends is the time covered up to there.
    """
    intervals = len(edges) - 1

    def since(moments: Integers) -> Floats:
        at = np.clip(np.searchsorted(edges, moments, side="left"), 0, intervals + 1)
        place = row * (intervals + 2) + at
        count = np.bincount(place, minlength=rows * (intervals + 2)).reshape(rows, -1)
        total = np.bincount(place, moments.astype(np.float64), minlength=rows * (intervals + 2))
        counts, totals = (np.cumsum(of, axis=1)[:, :-1] for of in (count, total.reshape(rows, -1)))
        return np.asarray(counts * edges - totals)

    return np.diff(since(begin) - since(end), axis=1)


def packed(timeline: Timeline) -> str:
    """Return the text for a profile's header; its compression includes a checksum."""
    data = {
        "ranks": timeline.ranks,
        "block": timeline.block,
        "elapsed_s": timeline.elapsed_s,
        "in_mpi": _levels(timeline.in_mpi),
        "waiting": _levels(timeline.waiting),
        "longest": [
            [one.rank, one.cause, one.call, KINDS.index(one.kind), one.begin_s, one.end_s]
            for one in timeline.longest
        ],
        "waits": timeline.waits,
    }
    return base64.b64encode(zlib.compress(json.dumps(data, separators=(",", ":")).encode())).decode()


def _levels(shares: Floats) -> list[list[int]]:
    levels: list[list[int]] = np.rint(_LEVELS * shares).astype(int).tolist()
    return levels


def unpacked(word: str, ranks: int) -> Timeline:
    """Return the timeline in `word` of a profile of so many ranks; ValueError if it is damaged."""
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(base64.b64decode(word, validate=True), _MOST_BYTES)
        if not reader.eof:
            raise ValueError(f"its timeline is truncated or has more than {format_bytes(_MOST_BYTES)}")
        data = JsonObject.of(parsed(text), "timeline")
    except zlib.error as error:
        raise ValueError(f"its timeline: {error}") from None
    block = data.whole("block", 1, ranks)
    rows = -(-data.whole("ranks", ranks, ranks) // block)
    if rows > MOST_ROWS:
        raise ValueError(f"timeline.block is {block:,}, which leaves {rows:,} rows")
    in_mpi, waiting = (_shares(data, name, rows) for name in ("in_mpi", "waiting"))
    if in_mpi.shape != waiting.shape:
        raise ValueError("timeline.waiting has another shape than timeline.in_mpi")
    longest = tuple(_long_wait(one, ranks) for one in data.list("longest", _MOST_WAITS))
    elapsed_s = data.number("elapsed_s")
    if not elapsed_s or any(not 0 <= one.begin_s <= one.end_s <= elapsed_s * 1.001 for one in longest):
        raise ValueError("timeline.longest has a wait outside of the time")
    return Timeline(ranks, block, elapsed_s, in_mpi, waiting, longest, data.whole("waits"))


def _shares(data: JsonObject, name: str, rows: int) -> Floats:
    lines = data.list(name, rows)
    lengths = {len(line) if isinstance(line, list) else 0 for line in lines}
    if len(lines) != rows or len(lengths) != 1 or not 1 <= min(lengths) <= _MOST_INTERVALS:
        raise ValueError(f"timeline.{name} has the wrong shape")
    if not all(type(level) is int and 0 <= level <= _LEVELS for line in lines for level in line):
        raise ValueError(f"timeline.{name} has a share that is none")
    return np.array(lines, dtype=np.float64) / _LEVELS


def _long_wait(words: Sequence[object], ranks: int) -> LongWait:
    if not isinstance(words, list) or len(words) != 6:
        raise ValueError("timeline.longest has a line of the wrong length")
    one = JsonObject(dict(zip(("rank", "cause", "call", "kind", "begin_s", "end_s"), words, strict=True)))
    return LongWait(
        one.whole("rank", 0, ranks - 1),
        one.whole("cause", 0, ranks - 1),
        one.text("call"),
        KINDS[one.whole("kind", 0, len(KINDS) - 1)],
        one.number("begin_s"),
        one.number("end_s"),
    )
