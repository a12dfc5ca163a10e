"""Reads time-stamped recordings: the calls of all ranks on a common clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kiviat.record import InputError
from kiviat.trace.files import streams_of
from kiviat.trace.layout import Layout, launched_in
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
    streams, _ = launched_in(folder)
    if not streams:
        return None
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
        facts = {name: getattr(one, name) for name in ("rank", "other_threads", "unseen", "lost", "failed")}
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
    firsts = _firsts(headers).values()  # which compare clocks; rank 0 is asked
    if len(firsts) > 1 and any(header["rank"] and not header["moment_after_ns"] for header in firsts):
        remarks.append("clocks were compared at the beginning only; errors may be greater than stated")
    if any(header["unseen"] or header["unsupported"] for header in headers):
        remarks.append("intercommunicators, persistent collectives and partitioned messages are left out")
    if any(header.get("failed") for header in headers):
        remarks.append("what calls that failed sent or received is left out")
    return remarks


def _clocks(headers: Sequence[Mapping[str, Any]]) -> dict[int, Clock]:
    """Return the clocks by number, each as its first rank compared it with the clock of rank 0."""
    clocks: dict[int, Clock] = {}
    for number, header in _firsts(headers).items():
        before, after = (
            tuple(_signed(header[f"{name}_{when}_ns"]) for name in ("offset", "moment", "trip"))
            for when in ("before", "after")
        )
        after = after if after[1] else before
        clocks[number] = Clock((before[0], after[0]), (before[1], after[1]), max(before[2], after[2]) / 2)
    return clocks


def _firsts(headers: Sequence[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """Return the header of the first rank of each clock, by the number of the clock."""
    firsts: dict[int, Mapping[str, Any]] = {}
    for header in headers:
        firsts.setdefault(header["clock"], header)
    return firsts


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word
