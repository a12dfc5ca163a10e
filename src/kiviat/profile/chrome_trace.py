"""A recording of times in the trace-event format, which Perfetto (ui.perfetto.dev) and Chrome open.

Format: "Trace Event Format", Google, 2016 (the document that Perfetto's documentation on external formats
names). Nodes are its processes, ranks its threads; a call is a complete event ("X"), and a wait state is one
within it, with the rank that is awaited. Arrows (flow events "s" and "f") lead from the call of that rank,
when it begins, to the call that waits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from kiviat.profile.waits import KINDS, EachWait
from kiviat.trace.stamps import Recording
from kiviat.trace.trace import Trace

MOST_CALLS = 2_000_000


def write_chrome_trace(target: BinaryIO, trace: Trace, recording: Recording, waits: EachWait) -> int:
    """Write the events as JSON; return the number of short calls omitted, beyond MOST_CALLS of all ranks."""
    starts = [int(events.entered_ns[0]) for events in recording.each if events.call.size]
    start = min(starts, default=0)
    least, ties, omitted = _limits(recording)
    about = {"program": trace.program, "library": trace.library, "ranks": trace.ranks, "omitted": omitted}
    target.write(b'{"displayTimeUnit":"ns","otherData":' + _line(about) + b',"traceEvents":[\n')
    first = True
    for event in _events(trace, recording, waits, start, least, ties):
        target.write((b"" if first else b",\n") + _line(event))
        first = False
    target.write(b"\n]}\n")
    return omitted


def _limits(recording: Recording) -> tuple[int, int, int]:
    """Return which calls are written, MOST_CALLS at most.

    They are given by the shortest duration in nanoseconds and the number of calls of exactly that duration;
    the third number is that of the calls left out.
    """
    parts = [events.left_ns - events.entered_ns for events in recording.each]
    durations = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
    if len(durations) <= MOST_CALLS:
        return 0, len(durations), 0
    least = int(np.partition(durations, -MOST_CALLS)[-MOST_CALLS])
    # Coarse clocks give many calls the same duration.
    return least, MOST_CALLS - int((durations > least).sum()), len(durations) - MOST_CALLS


def _events(
    trace: Trace, recording: Recording, waits: EachWait, start: int, least_ns: int, ties: int
) -> Iterator[dict[str, Any]]:
    place = {one.rank: {"pid": one.node + 1, "tid": one.rank + 1} for one in trace.each}
    for node, host in {one.node: one.host for one in trace.each}.items():
        name = f"node {node} ({host})" if host else f"node {node}"
        yield {"ph": "M", "name": "process_name", "pid": node + 1, "tid": 0, "args": {"name": name}}
    for one in trace.each:
        yield {"ph": "M", "name": "thread_name", **place[one.rank], "args": {"name": f"rank {one.rank}"}}
        yield {
            "ph": "M",
            "name": "thread_sort_index",
            **place[one.rank],
            "args": {"sort_index": one.rank},
        }
    for events in recording.each:
        durations = events.left_ns - events.entered_ns
        shortest = np.flatnonzero(durations == least_ns)[:ties]
        ties -= len(shortest)
        for at in np.union1d(np.flatnonzero(durations > least_ns), shortest).tolist():
            yield {
                "ph": "X",
                "name": f"MPI_{recording.names[int(events.call[at])]}",
                "cat": "mpi",
                **place[events.rank],
                "ts": _us(int(events.entered_ns[at]) - start),
                "dur": _us(int(durations[at])),
            }
    yield from _waits(recording, waits, place, start, least_ns)


def _waits(
    recording: Recording, waits: EachWait, place: dict[int, dict[str, int]], start: int, least_ns: int
) -> Iterator[dict[str, Any]]:
    columns: Sequence[list[int]] = [
        getattr(waits, name).tolist() for name in ("rank", "cause", "call", "kind", "entered_ns", "waited_ns")
    ]
    whole = waits.whole.tolist()
    for number, (rank, cause, call, kind, entered, waited) in enumerate(zip(*columns, strict=True)):
        if waited < least_ns:
            continue
        wait = {"name": KINDS[kind], "cat": "wait"}
        arrival = _us(entered + waited - start)
        yield {
            "ph": "X",
            **wait,
            **place[rank],
            "ts": _us(entered - start),
            "dur": _us(waited),
            "args": {"rank": rank, "waits for": cause, "in": f"MPI_{recording.names[call]}"},
        }
        # An arrow needs a call of the awaited rank that begins there, and one that goes on.
        if cause in place and whole[number]:
            yield {"ph": "s", **wait, "id": number, **place[cause], "ts": arrival}
            yield {"ph": "f", "bp": "e", **wait, "id": number, **place[rank], "ts": arrival}


def _us(nanoseconds: int) -> float:
    return nanoseconds / 1000


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event, separators=(",", ":")).encode()
