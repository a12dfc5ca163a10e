"""Reads traces: their headers, and their streams for the replayer."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

from kiviat.record import InputError
from kiviat.record.files import open_binary
from kiviat.record.units import format_bytes
from kiviat.trace.json_object import MOST_DATE_S, MOST_RANKS, JsonObject, parsed
from kiviat.trace.layout import START, Layout, layout_of
from kiviat.trace.pack import TIMES
from kiviat.trace.trace import ENDED, RankTrace, Rate, Trace

# Limit on the bytes of an event, divided by the number of ranks plus 8.
_MOST_OF_EVENT = 64
_AT_ONCE = 1 << 20


def is_trace(path: Path) -> bool:
    """True for a file that begins as traces do; False if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(START)) == START
    except OSError:
        return False


def read_trace(path: Path) -> Trace:
    """Return the header of a trace; InputError if it is truncated, of another version or not a trace."""
    try:
        with open_binary(path) as file:
            if file.read(len(START)) != START:
                raise InputError(f"{path} is not a trace: `kiviat trace -- mpirun …` writes one")
            file.seek(0)
            layout = layout_of(file.readline().rstrip(b"\n"), path)
            words = _checked(file.readline(), file.readline(), path)
            streams_at = file.tell()
            size = file.seek(0, 2) - streams_at
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    try:
        return _trace(layout, JsonObject.of(parsed(words)), path, streams_at, size)
    except ValueError as error:
        raise InputError(f"{path} is damaged: {error}; record the program again") from None


def _trace(layout: Layout, words: JsonObject, path: Path, streams_at: int, size: int) -> Trace:
    """Return the trace whose streams take `size` bytes from `streams_at` on; ValueError if inconsistent."""
    ranks = words.whole("ranks", 1, MOST_RANKS)
    each = [_of_rank(layout, about, ranks) for about in words.each("each", ranks)]
    numbers = [one.rank for one in each]
    if not each or numbers != sorted(set(numbers)):
        raise ValueError("its ranks are missing or out of order")
    nodes: dict[int, int] = {}  # numbers by what the recorder writes, hashes
    each = [replace(one, node=nodes.setdefault(one.node, len(nodes))) for one in each]
    expected = sum(one.packed_bytes for one in each)
    if size != expected:
        raise InputError(f"{path} is truncated: {size:,} of {expected:,} bytes; record the program again")
    rate = None
    if words.words.get("rate") is not None:
        rate = _rate(words.inside("rate"))
    return Trace(
        path=path,
        program=words.text("program"),
        library=words.text("library"),
        ranks=ranks,
        started_s=words.whole("started_s", 0, MOST_DATE_S),
        rate=rate,
        each=each,
        streams_at=streams_at,
        crc32=zlib.crc32(json.dumps([one.crc32 for one in each]).encode()),
        layout=layout,
        subject=words.text("subject") if words.words.get("subject") is not None else None,
    )


def _rate(facts: JsonObject) -> Rate:
    flops, how = facts.number("flops"), facts.text("how")
    if facts.words.get("flops_min") is None:  # a trace of an earlier version
        low = high = flops
        rate = Rate(flops, how)
    else:
        low, high = facts.number("flops_min"), facts.number("flops_max")
        rate = Rate(flops, how, low, high)
    if not 0 < low <= flops <= high:
        raise ValueError("rate.flops is 0, or not between flops_min and flops_max")
    return rate


def check(trace: Trace) -> None:
    """Raise InputError if a stream is damaged."""
    for _ in _unpacked(trace):
        pass


def unpack(trace: Trace, folder: Path) -> None:
    """Write RANK.stream for each rank into `folder`; InputError for damaged traces and too little space."""
    folder.mkdir(parents=True, exist_ok=True)
    whole, free = sum(one.stream_bytes for one in trace.each), shutil.disk_usage(folder).free
    if whole > free:
        raise InputError(
            f"{trace.path} unpacks to {format_bytes(whole)}, and {folder} has {format_bytes(free)} free; "
            "set KIVIAT_RUNS to a folder with more space"
        )
    for one in trace.each:
        (folder / f"{one.rank}.stream").write_bytes(b"")
    for rank, part in _unpacked(trace):
        with (folder / f"{rank}.stream").open("ab") as file:
            file.write(part)


def streams_of(trace: Trace) -> Iterator[bytes]:
    """Yield the whole stream of each rank in turn; InputError if one is damaged."""
    parts = groupby(_unpacked(trace), key=itemgetter(0))
    for _, of_rank in parts:
        yield b"".join(part for _, part in of_rank)


def _unpacked(trace: Trace) -> Iterator[tuple[int, bytes]]:
    """Yield ranks and the parts of their streams."""
    with trace.path.open("rb") as file:
        file.seek(trace.streams_at)
        for one in trace.each:
            try:
                yield from ((one.rank, part) for part in _parts(file, one))
            except (ValueError, zlib.error) as error:
                why = f"the stream of rank {one.rank}: {error}"
                raise InputError(f"{trace.path} is damaged: {why}; record the program again") from None


def _parts(file: BinaryIO, one: RankTrace) -> Iterator[bytes]:
    """Yield the decompressed parts of a stream up to its declared size; ValueError, zlib.error if damaged."""
    unpacking, checksum, left, room = zlib.decompressobj(), 0, one.packed_bytes, one.stream_bytes
    while left or unpacking.unconsumed_tail:
        packed = unpacking.unconsumed_tail
        if not packed:
            packed = file.read(min(left, _AT_ONCE))
            if not packed:
                raise ValueError("it is truncated")
            left -= len(packed)
            checksum = zlib.crc32(packed, checksum)
        part = unpacking.decompress(packed, min(room + 1, _AT_ONCE))
        room -= len(part)
        if room < 0:
            raise ValueError(f"it unpacks to more than the declared {format_bytes(one.stream_bytes)}")
        yield part
    if checksum != one.crc32:
        raise ValueError("its checksum does not match")
    if room or not unpacking.eof or unpacking.unused_data:
        raise ValueError(f"it does not unpack to the declared {format_bytes(one.stream_bytes)}")


def _checked(line: bytes, words: bytes, path: Path) -> bytes:
    words = words.rstrip(b"\n")
    try:
        header = JsonObject.of(parsed(line))
        size, checksum = header.whole("bytes"), header.whole("crc32")
    except ValueError:
        raise InputError(f"{path} is truncated; record the program again") from None
    if len(words) != size:
        raise InputError(f"{path} is truncated; record the program again")
    if zlib.crc32(words) != checksum:
        raise InputError(f"{path} is damaged: its checksum does not match; record the program again")
    return words


def _of_rank(layout: Layout, about: JsonObject, ranks: int) -> RankTrace:
    counted = about.wholes("counted", 2 * len(layout.operations))
    if len(counted) < 2 * len(layout.operations):
        raise ValueError(f"{about.where}.counted has {len(counted)} numbers")
    calls = dict(zip(layout.operations, counted[::2], strict=True))
    sent = dict(zip(layout.operations, counted[1::2], strict=True))
    ended = about.whole("stage") == ENDED
    unsupported = about.whole("unsupported", 0, len(layout.calls))
    crossed, failed = (  # new
        about.whole(name, 0, len(layout.calls)) if name in about else 0 for name in ("crossed", "failed")
    )
    events, stream_bytes = about.whole("events"), about.whole("length")
    if not 2 * events <= stream_bytes <= (events + 1) * _MOST_OF_EVENT * (8 + ranks):
        raise ValueError(
            f"{about.where}.length is {stream_bytes:,} bytes, impossible for {events:,} events of "
            f"{ranks:,} ranks"
        )
    return RankTrace(
        rank=about.whole("rank", 0, ranks - 1),
        host=about.text("host"),
        node=about.whole("node"),
        events=events,
        computed_s=1e-9 * about.whole("computed_ns"),
        elapsed_s=1e-9 * about.whole("elapsed_ns") if ended else None,
        calls={name: value for name, value in calls.items() if value},
        bytes={name: value for name, value in sent.items() if value},
        unsupported=layout.calls[unsupported - 1] if unsupported else None,
        other_threads=about.whole("other_threads"),
        crossed=layout.calls[crossed - 1] if crossed else None,
        apart=about.whole("apart") if "apart" in about else 0,
        failed=layout.calls[failed - 1] if failed else None,
        unseen=about.whole("unseen"),
        sparse=about.whole("sparse"),
        lost=bool(about.whole("lost")),
        polls=about.whole("polls"),
        stream_bytes=stream_bytes,
        packed_bytes=about.whole("packed"),
        crc32=about.whole("crc32"),
        times={name: about.whole(name) for name in TIMES} if TIMES[0] in about else None,
    )
