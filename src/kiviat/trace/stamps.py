"""Reads time-stamped recordings: the calls of all ranks on a common clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kiviat.record import InputError
from kiviat.trace.files import streams_of
from kiviat.trace.layout import DESCRIPTION_AT, MAGIC, Layout, header_of, layout_of
from kiviat.trace.octets import numbers_of
from kiviat.trace.rank_events import Clock, Communicators, RankEvents
from kiviat.trace.stamp_stream import StampStream
from kiviat.trace.trace import ENDED, Trace

_MOST_RANKS = 1 << 24


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """Events of all recorded ranks. `refusal` is the reason why wait states cannot be determined, if any."""

    ranks: int
    names: Sequence[str]
    communicators: Communicators
    each: Sequence[RankEvents]
    refusal: str | None
    remarks: Sequence[str]


def read_stamps(folder: Path) -> Recording | None:
    """Return the recording in `folder`, None if there is none; InputError for another version."""
    streams: list[tuple[Layout, dict[str, Any], Path]] = []
    for path in sorted(folder.glob("rank-*.stream")):
        with path.open("rb") as file:
            head = file.read(1 << 16)
        if head[: len(MAGIC)] == MAGIC:
            layout = layout_of(head[DESCRIPTION_AT:].partition(b"\n")[0], path)
            streams.append((layout, header_of(layout, head), path))
    if not streams:
        return None
    streams.sort(key=lambda stream: int(stream[1]["rank"]))
    headers = [header for _, header, _ in streams]
    ranks = int(headers[0]["ranks"])
    if not all(header["rank"] < ranks <= _MOST_RANKS for header in headers):
        raise InputError(f"{folder} has impossible rank numbers; profile the program again")
    return _recording(ranks, streams[0][0], headers, map(_octets, streams))


def times_in(trace: Trace) -> Recording:
    """Return the recording in a trace; InputError if it holds no times, or is damaged."""
    headers: list[dict[str, Any]] = []
    for one in trace.each:
        if one.times is None:
            raise InputError(
                f"{trace.path} holds computation and no times of calls; `kiviat trace --times` records them"
            )
        stage = ENDED if one.elapsed_s is not None else 0
        unsupported = one.unsupported is not None
        facts = {name: getattr(one, name) for name in ("rank", "other_threads", "unseen", "lost")}
        headers.append({**facts, **one.times, "stage": stage, "unsupported": unsupported})
    return _recording(trace.ranks, trace.layout, headers, streams_of(trace))


def _octets(stream: tuple[Layout, Mapping[str, Any], Path]) -> bytes:
    layout, header, path = stream
    with path.open("rb") as file:
        file.seek(layout.stream_at)
        return file.read(min(header["length"], path.stat().st_size))


def _recording(
    ranks: int, layout: Layout, headers: Sequence[Mapping[str, Any]], streams: Iterable[bytes]
) -> Recording:
    refusal, remarks = _refusal(headers), _remarks(headers, ranks)
    communicators, each = Communicators(), []
    clocks = _clocks(headers)
    for header, octets in zip(headers, streams, strict=False) if refusal is None else ():
        try:
            numbers = numbers_of(octets).tolist()
            reader = StampStream(int(header["rank"]), ranks, communicators, layout.operations, numbers)
            reader.read()
            each.append(reader.stamped(header["begun_ns"], clocks[header["clock"]], header["clock"]))
        except (ArithmeticError, LookupError, ValueError):
            refusal = f"the times of rank {header['rank']} are damaged"
            break
    return Recording(ranks, layout.calls, communicators, each, refusal, remarks)


def _refusal(headers: Sequence[Mapping[str, Any]]) -> str | None:
    ranks = [int(header["rank"]) for header in headers]
    if len(set(ranks)) < len(ranks):
        return "several programs were recorded at once"
    for header in headers:
        if header["lost"]:
            return (
                f"the disk was too small for the times of rank {header['rank']}; --state puts them elsewhere"
            )
        if header["other_threads"]:
            return f"several threads of rank {header['rank']} call MPI, in an unknown order"
    return None


def _remarks(headers: Sequence[Mapping[str, Any]], ranks: int) -> list[str]:
    remarks = []
    if missing := ranks - sum(header["stage"] == 2 for header in headers):
        remarks.append(f"{missing} of {ranks} ranks did not reach MPI_Finalize")
    if len({header["clock"] for header in headers}) > 1 and not all(
        header["moment_after_ns"] for header in headers
    ):
        remarks.append("clocks were compared at the beginning only; errors may be greater than stated")
    if any(header["unseen"] or header["unsupported"] for header in headers):
        remarks.append("intercommunicators, persistent collectives and partitioned messages are left out")
    return remarks


def _clocks(headers: Sequence[Mapping[str, Any]]) -> dict[int, Clock]:
    """Return the clocks by number, each as its first rank compared it with the clock of rank 0."""
    clocks: dict[int, Clock] = {}
    for header in headers:
        if header["clock"] in clocks:
            continue
        before, after = (
            tuple(_signed(header[f"{name}_{when}_ns"]) for name in ("offset", "moment", "trip"))
            for when in ("before", "after")
        )
        after = after if after[1] else before
        clocks[header["clock"]] = Clock(
            (before[0], after[0]), (before[1], after[1]), max(before[2], after[2]) / 2
        )
    return clocks


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word
