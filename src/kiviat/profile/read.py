"""Reads profiles: a merged file, or the files of ranks of a program that did not reach MPI_Finalize.

native/prof/state.hpp and merge.hpp define their content; the JSON in the first line gives the layout.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kiviat.profile.layout import FORMATS, ROWS, Layout, layout_of
from kiviat.profile.phases import RankPhases, as_words, read_back
from kiviat.profile.profile import Profile, Relatives, assembled
from kiviat.profile.simulated import Simulated
from kiviat.profile.simulated import as_words as simulated_words
from kiviat.profile.simulated import read_back as simulated_in
from kiviat.profile.timeline import Timeline
from kiviat.profile.timeline import packed as packed_timeline
from kiviat.profile.timeline import unpacked as timeline_in
from kiviat.profile.traffic import Traffic
from kiviat.profile.waits import Waits, packed, unpacked
from kiviat.record import InputError, replacing
from kiviat.record.units import counted
from kiviat.trace.json_object import JsonObject, parsed
from kiviat.trace.octets import numbers_of

Words = NDArray[np.uint64]

_MOST_CHILDREN = 1 << 16
_START = b'{"format":"kiviat.profile/'


def is_profile(path: Path) -> bool:
    """Return True if `path` is a merged profile or a folder of files of ranks."""
    if path.is_dir():
        return any(path.glob("rank-*.state"))
    try:
        with path.open("rb") as file:
            return file.read(len(_START)) == _START
    except OSError:
        return False


def read_profile(path: Path) -> Profile:
    """Return the profile in a merged file or a folder of files of ranks; InputError if damaged."""
    return _of_ranks(path) if path.is_dir() else _merged(path)


def _merged(path: Path) -> Profile:
    _, layout, header, rank, place, value = _words_of(path)
    ranks = int(header["ranks"])
    try:
        words = JsonObject(header)
        return replace(
            assembled(layout, ranks, rank, place, value, str(path)),
            waits=unpacked(words.plain_text("waits"), ranks) if "waits" in words else None,
            timeline=timeline_in(words.plain_text("timeline"), ranks) if "timeline" in words else None,
            phases=read_back(words, ranks) if "phases" in words else None,
            simulated=simulated_in(words),
            subject=words.text("subject") if "subject" in words else None,
            relatives=_relatives(words),
        )
    except ValueError as error:
        raise InputError(f"{path} is damaged: {error}; profile the program again") from None


def _relatives(words: JsonObject) -> Relatives:
    return Relatives(
        words.text("parent") if "parent" in words else None,
        tuple(words.texts("children", _MOST_CHILDREN)) if "children" in words else (),
        words.whole("covered") if "covered" in words else 0,
    )


_Header = dict[str, Any]


def _words_of(path: Path) -> tuple[bytes, Layout, _Header, NDArray[np.int64], NDArray[np.int64], Words]:
    """Return the parts of a merged file.

    These are the layout's line, the layout, the header, and rank, offset and value of the nonzero words.
    Raise InputError if the file is damaged.
    """
    first, layout, header, octets = _checked(path)
    try:
        return first, layout, header, *_entries(numbers_of(octets), int(header["ranks"]))
    except ValueError as error:
        raise InputError(f"{path} is damaged: {error}; profile the program again") from None


def _checked(path: Path) -> tuple[bytes, Layout, _Header, bytes]:
    """Return layout line, layout, header and remaining bytes of a merged file that is intact."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if not content.startswith(_START):
        raise InputError(f"{path} is not a profile: `kiviat profile -- mpirun …` writes one")
    first, _, rest = content.partition(b"\n")
    layout = _layout(first, path)
    second, _, octets = rest.partition(b"\n")
    try:
        words = JsonObject.of(parsed(second))
        size, checksum = words.whole("bytes"), words.whole("adler32")
        words.whole("ranks", 1, max(1, len(octets)))  # at least one number for each
    except ValueError:
        raise InputError(f"{path} is truncated; profile the program again") from None
    header: _Header = dict(words.words)
    if len(octets) != size:
        raise InputError(f"{path} is truncated: {len(octets):,} of {size:,} bytes; profile the program again")
    if zlib.adler32(octets) != checksum:
        raise InputError(f"{path} is damaged: its checksum does not match; profile the program again")
    return first, layout, header, octets


def _layout(line: bytes, path: Path) -> Layout:
    try:
        words = JsonObject.of(parsed(line))
        version = words.text("format")
    except ValueError:
        raise InputError(f"{path} is truncated; profile the program again") from None
    if version not in FORMATS:
        known = " and ".join(map(repr, FORMATS))
        raise InputError(
            f"{path} is of version {version!r}: this kiviat reads {known}; use the one that wrote it"
        )
    try:
        return layout_of(words)
    except ValueError as error:
        raise InputError(f"{path} is damaged: {error}; profile the program again") from None


def _entries(numbers: Words, ranks: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Words]:
    """Return rank, offset and value of all nonzero words; ValueError if the numbers of ranks do not match."""
    owners, places, values = [], [], []
    at = 0
    for rank in range(ranks):
        count = int(numbers[at]) if at < len(numbers) else 1
        end = at + 1 + 2 * count
        if end > len(numbers):
            raise ValueError(f"the words of rank {rank} are incomplete")
        part = numbers[at + 1 : end]
        places.append(np.cumsum(part[0::2].astype(np.int64)))
        values.append(part[1::2])
        owners.append(np.full(count, rank, dtype=np.int64))
        at = end
    if at != len(numbers):
        raise ValueError(f"there are words after those of {ranks} ranks")
    return np.concatenate(owners), np.concatenate(places), np.concatenate(values)


def _of_ranks(folder: Path) -> Profile:
    layout, ranks, _, states_of, left_out = _left_behind(folder)
    owners, places, values = [], [], []
    for rank, words in sorted(states_of.items()):
        at = np.flatnonzero(words)
        owners.append(np.full(len(at), rank, dtype=np.int64))
        places.append(at.astype(np.int64))
        values.append(words[at])
    joined = np.concatenate(owners), np.concatenate(places), np.concatenate(values)
    try:
        profile = assembled(layout, ranks, *joined, str(folder))
    except ValueError as error:
        raise InputError(f"{folder} is damaged: {error}; profile the program again") from None
    return replace(profile, remarks=(*profile.remarks, *remarks_on_left_out(left_out)))


def write_merged(folder: Path, target: Path) -> int:
    """Merge the files of ranks in `folder` into `target`, as the profiler does at MPI_Finalize.

    Return the number of ranks of other programs that are left out, for `remarks_on_left_out`.
    """
    _, ranks, line, states_of, left_out = _left_behind(folder)
    places = {rank: np.flatnonzero(words) for rank, words in states_of.items()}
    _write(target, line, ranks, {rank: (at, states_of[rank][at]) for rank, at in places.items()})
    return left_out


def remarks_on_left_out(ranks: int) -> tuple[str, ...]:
    """Return a sentence on the ranks of other programs that are left out, if there are any."""
    if not ranks:
        return ()
    return (
        f"left out: {counted(ranks, 'rank')} of earlier programs that did not reach MPI_Finalize either; "
        "only the latest of such programs has a profile",
    )


def add_crossing(path: Path, pairs: Sequence[tuple[int, int, int, int]]) -> None:
    """Add the MPI library's own counts, (source, target, messages, bytes), to a merged file."""
    line, layout, header, rank, place, value = _words_of(path)
    ranks = header["ranks"]
    traffic = Traffic.of_entries(ranks, [pair for pair in pairs if max(pair[:2]) < ranks])
    begin = layout.rows_at + 2 * ranks * ROWS.index("crossed")
    ones = np.ones(ranks, dtype=np.int64)
    owners = np.concatenate([rank, np.arange(ranks), traffic.source, traffic.source])
    places = np.concatenate(
        [
            place,
            ones * layout.fields["crossing"],
            begin + 2 * traffic.target,
            begin + 2 * traffic.target + 1,
        ]
    )
    values = np.concatenate(
        [value, ones.astype(np.uint64), traffic.messages.astype(np.uint64), traffic.bytes.astype(np.uint64)]
    )
    order = np.lexsort((places, owners))
    owners, places, values = owners[order], places[order], values[order]
    ends = np.searchsorted(owners, np.arange(ranks + 1))
    chosen = {
        rank_: (places[ends[rank_] : ends[rank_ + 1]], values[ends[rank_] : ends[rank_ + 1]])
        for rank_ in range(ranks)
    }
    _write(path, line, ranks, chosen)


def add_waits(path: Path, waits: Waits, timeline: Timeline | None = None) -> None:
    """Add wait states, and when they were, to a merged file."""
    _add(path, "waits", packed(waits))
    if timeline:
        _add(path, "timeline", packed_timeline(timeline))


def add_phases(path: Path, each: Sequence[RankPhases]) -> None:
    """Add measurements by phase to a merged file."""
    _add(path, "phases", as_words(each))


def add_subject(path: Path, subject: str) -> None:
    """Add what was profiled, in words for a title, to a merged file."""
    _add(path, "subject", subject)


def add_children(path: Path, children: Sequence[Path]) -> None:
    """Add to a merged file the profiles of the processes that it started, and to those the file's name."""
    _add(path, "children", [child.name for child in children])
    _add(path, "covered", sum(read_profile(child).ranks for child in children))
    for child in children:
        _add(child, "parent", path.name)


def add_simulated(path: Path, simulated: Simulated) -> None:
    """Add the modelled machine to a merged file."""
    _add(path, "simulated", simulated_words(simulated))


def _add(path: Path, name: str, word: Any) -> None:
    """Set a field of the header."""
    line, _, header, octets = _checked(path)
    _replace(path, line, header | {name: word}, octets)


def _write(
    target: Path, line: bytes, ranks: int, words: Mapping[int, tuple[NDArray[np.int64], Words]]
) -> None:
    """Write offsets and values of each rank in the format of native/prof/merge.cpp."""
    octets = bytearray()
    for rank in range(ranks):
        places, values = words.get(rank, ((), ()))
        _put(octets, len(places))
        before = 0
        for place, value in zip(map(int, places), map(int, values), strict=True):
            _put(octets, place - before)
            _put(octets, value)
            before = place
    header = {"ranks": ranks, "bytes": len(octets), "adler32": zlib.adler32(octets)}
    _replace(target, line, header, bytes(octets))


def _replace(target: Path, line: bytes, header: _Header, octets: bytes) -> None:
    second = json.dumps(header, separators=(",", ":")).encode()
    with replacing(target) as file:
        file.write(b"\n".join((line, second, octets)))


def _left_behind(folder: Path) -> tuple[Layout, int, bytes, dict[int, Words], int]:
    """Read the files of ranks that ended without MPI_Finalize.

    They are those of the latest program in the folder that the launcher started, or else that MPI_Comm_spawn
    did. Return the layout, the number of ranks of the world, the layout's line, the words of each rank, and
    the number of ranks of other programs that the launcher started.
    """
    states = [state for path in folder.glob("rank-*.state") if (state := _state(path)) is not None]
    if not states:
        raise InputError(f"{folder} has no data of ranks; profile the program again")
    states = [state for state in states if not _spawned(state)] or states
    states.sort(key=lambda state: int(state[2][state[0].fields["started_s"]]))
    layout, line, last = states[-1]
    ranks = int(last[layout.fields["ranks"]])
    states_of = {
        int(words[layout.fields["rank"]]): words
        for _, other, words in states
        if int(words[layout.fields["ranks"]]) == ranks and other == line
    }
    most = (len(last) - layout.rows_at) // (2 * layout.rows)
    if not ranks <= most or not all(rank < ranks for rank in states_of):
        raise InputError(
            f"{folder} is damaged: there is no room for {ranks:,} ranks; profile the program again"
        )
    return layout, ranks, line, states_of, len(states) - len(states_of)


def _spawned(state: tuple[Layout, bytes, Words]) -> bool:
    layout, _, words = state
    return "parents" in layout.fields and bool(words[layout.fields["parents"]])


def _state(path: Path) -> tuple[Layout, bytes, Words] | None:
    """Return the layout, its line and the words of a rank; None if it counted nothing."""
    content = path.read_bytes()
    at = content.rfind(_START)
    if at < 0:
        return None
    line = content[at:].partition(b"\n")[0]
    layout = _layout(line, path)
    words = np.frombuffer(content[: at - at % 8], dtype="<u8").astype(np.uint64)
    counted = len(words) > layout.rows_at and words[layout.fields["stage"]]
    return (layout, line, words) if counted else None


def _put(to: bytearray, value: int) -> None:
    while value >= 0x80:
        to.append(value & 0x7F | 0x80)
        value >>= 7
    to.append(value)
