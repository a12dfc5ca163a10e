"""Who waited for whom: what `kiviat profile --wait-states` found, and how it stands in a profile."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kiviat.record.units import format_bytes
from kiviat.trace.json_object import JsonObject, parsed

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# A line has some hundred bytes, and three times of its own, of which packing leaves some eight bytes each; of
# fewer lines all may be alike.
_MOST_RATIO = 64
_MOST_BYTES = 1 << 26
_MOST_COUNT = (1 << 63) - 1

KINDS = ("late sender", "late receiver", "late root", "early root", "imbalance")


@dataclass(frozen=True, slots=True, eq=False)
class Waits:
    """A line for each waiting rank, call, kind (one of KINDS) and rank that it waited for, the `cause`.

    `count` are waits, `seconds` their sum, `longest_s` the longest one; `error_s` is by how much the sum may
    be off, since clocks of several machines are known to a part of a round trip only. `clocks` are as many
    as were read, `recorded` as many calls have times. `unavailable` says why nothing is known, if that is so.
    """

    rank: Integers
    cause: Integers
    call: NDArray[np.str_]
    kind: NDArray[np.str_]
    count: Integers
    seconds: Floats
    longest_s: Floats
    error_s: Floats
    clocks: int
    recorded: int
    remarks: tuple[str, ...]
    unavailable: str | None = None

    @classmethod
    def none(cls, why: str) -> Waits:
        """Unavailable, for this reason."""
        words, whole = np.zeros(0, dtype=np.str_), np.zeros(0, dtype=np.int64)
        real = np.zeros(0)
        return cls(whole, whole, words, words, whole, real, real, real, 0, 0, (), why)


# One element each for a line.
COLUMNS = ("rank", "cause", "call", "kind", "count", "seconds", "longest_s", "error_s")


def packed(waits: Waits) -> str:
    """As a word for a profile's second line; compression checks it."""
    told: dict[str, Any] = {name: getattr(waits, name).tolist() for name in COLUMNS}
    for name in ("clocks", "recorded", "remarks", "unavailable"):
        told[name] = getattr(waits, name)
    return base64.b64encode(zlib.compress(json.dumps(told, separators=(",", ":")).encode())).decode()


def unpacked(word: str, ranks: int) -> Waits:
    """Of so many ranks; ValueError for what is torn, or unpacks to more than such a word ever does."""
    try:
        whole = base64.b64decode(word, validate=True)
        unpacking = zlib.decompressobj()
        words = unpacking.decompress(whole, max(_MOST_BYTES, _MOST_RATIO * len(whole)))
    except zlib.error as error:
        raise ValueError(f"waits: {error}") from None
    if not unpacking.eof:
        more = f"more than the {format_bytes(len(words))} that {format_bytes(len(whole))} of them can have"
        raise ValueError("waits: torn" if not unpacking.unconsumed_tail else f"waits: they unpack to {more}")
    told = JsonObject.of(parsed(words), "waits")
    unavailable = None if told.words.get("unavailable") is None else told.text("unavailable")
    lines = len(told.list("rank", len(words)))

    def whole_numbers(name: str, most: int) -> Integers:
        found = np.array(told.wholes(name, lines) or [], dtype=np.uint64)
        if len(found) != lines or (found > most).any():
            raise ValueError(f"waits.{name} is none of {lines:,} lines")
        return found.astype(np.int64)

    def real(name: str) -> Floats:
        found = np.array(told.numbers(name, lines), dtype=np.float64)
        if len(found) != lines or not (found >= 0).all():
            raise ValueError(f"waits.{name} is none of {lines:,} lines")
        return found

    call, kind = ([told.text_of(one, name) for one in told.list(name, lines)] for name in ("call", "kind"))
    if len(call) != lines or len(kind) != lines or not set(kind) <= set(KINDS):
        raise ValueError(f"waits.call or waits.kind is none of {lines:,} lines")
    return Waits(
        rank=whole_numbers("rank", ranks - 1),
        cause=whole_numbers("cause", ranks - 1),
        call=np.array(call, dtype=np.str_),
        kind=np.array(kind, dtype=np.str_),
        count=whole_numbers("count", _MOST_COUNT),
        seconds=real("seconds"),
        longest_s=real("longest_s"),
        error_s=real("error_s"),
        clocks=told.whole("clocks"),
        recorded=told.whole("recorded"),
        remarks=tuple(told.texts("remarks", lines + 1000)),
        unavailable=unavailable,
    )
