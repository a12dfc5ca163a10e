"""Reads traces: what they are about, and their streams for the replayer."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kiviat.record import InputError
from kiviat.trace.layout import START, Layout, layout_of
from kiviat.trace.trace import ENDED, RankTrace, Rate, Trace


def is_trace(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(START)) == START
    except OSError:
        return False


def read_trace(path: Path) -> Trace:
    """InputError for what is torn, of another version, or none."""
    try:
        with path.open("rb") as file:
            if file.read(len(START)) != START:
                raise InputError(f"{path} is no trace: `kiviat trace -- mpirun …` writes one")
            file.seek(0)
            layout = layout_of(file.readline().rstrip(b"\n"), path)
            words = _checked(file.readline(), file.readline(), path)
            streams_at = file.tell()
            size = file.seek(0, 2) - streams_at
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    each = [_of_rank(layout, about) for about in words["each"]]
    expected = sum(one.packed_bytes for one in each)
    if size != expected:
        raise InputError(f"{path} is truncated: {size:,} of {expected:,} bytes; record the program again")
    return Trace(
        path=path,
        program=words["program"],
        library=words["library"],
        ranks=words["ranks"],
        started_s=words["started_s"],
        rate=Rate(**words["rate"]) if words["rate"] else None,
        each=each,
        streams_at=streams_at,
        crc32=zlib.crc32(json.dumps([one.crc32 for one in each]).encode()),
    )


def check(trace: Trace) -> None:
    """InputError where a stream is damaged."""
    for _ in _packed(trace):
        pass


def unpack(trace: Trace, folder: Path) -> None:
    """Writes RANK.stream for each rank into `folder`; InputError where the trace is damaged."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank, packed in _packed(trace):
        (folder / f"{rank}.stream").write_bytes(zlib.decompress(packed))


def _packed(trace: Trace) -> Iterator[tuple[int, bytes]]:
    with trace.path.open("rb") as file:
        file.seek(trace.streams_at)
        for one in trace.each:
            packed = file.read(one.packed_bytes)
            if zlib.crc32(packed) != one.crc32:
                raise InputError(
                    f"{trace.path} is damaged: the checksum of rank {one.rank} is another one; record the "
                    "program again"
                )
            yield one.rank, packed


def _checked(line: bytes, words: bytes, path: Path) -> Mapping[str, Any]:
    words = words.rstrip(b"\n")
    try:
        told = json.loads(line)
        size, checksum = int(told["bytes"]), int(told["crc32"])
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path} is truncated; record the program again") from None
    if len(words) != size:
        raise InputError(f"{path} is truncated; record the program again")
    if zlib.crc32(words) != checksum:
        raise InputError(f"{path} is damaged: its checksum is another one; record the program again")
    about: Mapping[str, Any] = json.loads(words)
    return about


def _of_rank(layout: Layout, about: Mapping[str, Any]) -> RankTrace:
    counted = about["counted"]
    calls = dict(zip(layout.operations, counted[::2], strict=True))
    sent = dict(zip(layout.operations, counted[1::2], strict=True))
    ended = about["stage"] == ENDED
    return RankTrace(
        rank=about["rank"],
        host=about["host"],
        node=about["node"],
        events=about["events"],
        computed_s=1e-9 * about["computed_ns"],
        elapsed_s=1e-9 * about["elapsed_ns"] if ended else None,
        calls={name: value for name, value in calls.items() if value},
        bytes={name: value for name, value in sent.items() if value},
        unsupported=layout.calls[about["unsupported"] - 1] if about["unsupported"] else None,
        other_threads=about["other_threads"],
        unseen=about["unseen"],
        sparse=about["sparse"],
        lost=bool(about["lost"]),
        polls=about["polls"],
        packed_bytes=about["packed"],
        crc32=about["crc32"],
    )
