"""Fabricated recordings with time stamps, in the format of the recorder."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path

FIELDS = (
    *("magic", "rank", "ranks", "stage", "length", "stamps", "begun_ns", "clock", "unseen", "unsupported"),
    *("lost", "other_threads", "offset_before_ns", "moment_before_ns", "trip_before_ns"),
    *("offset_after_ns", "moment_after_ns", "trip_after_ns", "process", "parents", "started_s", "node"),
    *("events", "computed_ns", "elapsed_ns", "polls", "sparse", "crossed", "apart", "failed"),
)
OPERATIONS = (
    *("end", "send", "isend", "recv", "irecv", "sendrecv", "probe", "wait", "cancel", "barrier", "bcast"),
    *("reduce", "alltoallv", "alltoallw", "gatherv", "neighbours", "scan", "comm_split", "comm_create"),
    *("win_create", "win_fence", "win_free", "stamp", "members", "comm_dup", "matched", "ends", "control"),
)
CALLS = ("Call", "Other")
Event = tuple[str | int, ...]
Call = tuple[float, float, int, tuple[Event, ...]]
_TEXTS_AT, _DESCRIPTION_AT, _STREAM_AT = 4096, 8192, 65536


def call(entered_ms: float, left_ms: float, *events: Event, number: int = 0) -> Call:
    """Return one call with its entry and exit times and its events; ranks and tags are already
    zigzag-encoded.
    """
    return entered_ms, left_ms, number, events


def write_rank(folder: Path, rank: int, ranks: int, calls: Sequence[Call], **header: int) -> None:
    """Write the recording of a rank; times of `calls` are in ms since the start."""
    stream, last = bytearray(), 0
    for entered_ms, left_ms, number, events in calls:
        entered, left = int(1e6 * entered_ms), int(1e6 * left_ms)
        for name, *parameters in (*events, ("stamp", number, entered - last, left - entered)):
            for value in (0, OPERATIONS.index(str(name)), *map(int, parameters)):
                _put(stream, value)
        last = left
    for value in (0, OPERATIONS.index("end")):
        _put(stream, value)
    fields = {"rank": rank, "ranks": ranks, "stage": 2, "length": len(stream), "stamps": 1, **header}
    fields["magic"] = int.from_bytes(b"kvtrace1", "little")
    layout = {
        "format": "kiviat.trace/1",
        "fields": FIELDS,
        "texts": {name: [_TEXTS_AT + 64 * at, 64] for at, name in enumerate(("host", "library", "program"))},
        "counted_at": 8 * len(FIELDS),
        "stream_at": _STREAM_AT,
        "operations": OPERATIONS,
        "calls": CALLS,
    }
    words = struct.pack(f"<{len(FIELDS)}Q", *(fields.get(name, 0) % (1 << 64) for name in FIELDS))
    content = words.ljust(_DESCRIPTION_AT, b"\0") + json.dumps(layout, separators=(",", ":")).encode() + b"\n"
    path = folder / f"rank-{rank}-{header.get('process', 1)}.stream"
    path.write_bytes(content.ljust(_STREAM_AT, b"\0") + bytes(stream))


def folded(value: int) -> int:
    return (value << 1) ^ (value >> 63)


def send(to: int, tag: int = 0, comm: int = 0) -> Event:
    return "send", comm, folded(to), folded(tag), 1, 1


def recv(source: int, tag: int = 0, comm: int = 0) -> Event:
    return "recv", comm, folded(source), folded(tag), 1, 1


def isend(to: int, request: int, tag: int = 0) -> Event:
    return "isend", 0, folded(to), folded(tag), 1, 1, request


def irecv(source: int, request: int, tag: int = 0) -> Event:
    return "irecv", 0, folded(source), folded(tag), 1, 1, request


def _put(stream: bytearray, value: int) -> None:
    while value >= 0x80:
        stream.append(value & 0x7F | 0x80)
        value >>= 7
    stream.append(value)
