"""Wait states of a profile, and their encoding in its file."""

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

# Limit on decompression: real data shrinks to about a quarter (a line of some 100 bytes has times that take
# 24), so a ratio above 64 is an attack or damage.
_MOST_RATIO = 64
_MOST_BYTES = 1 << 26
_MOST_COUNT = (1 << 63) - 1

KINDS = ("late sender", "late receiver", "late root", "early root", "imbalance")


@dataclass(frozen=True, slots=True, eq=False)
class Waits:
    """A line for each combination of waiting rank, call, kind (one of KINDS) and `cause`, the awaited rank.

    `count` is the number of waits, `seconds` their sum, `longest_s` the longest one. `error_s` is the error
    of the sum: clocks of different nodes are synchronised to a fraction of a round trip only. `clocks`:
    number of clocks; `recorded`: number of calls with times; `unavailable`: reason for missing data.
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
        """Return wait states that are unavailable for the reason `why`."""
        words, whole = np.zeros(0, dtype=np.str_), np.zeros(0, dtype=np.int64)
        real = np.zeros(0)
        return cls(whole, whole, words, words, whole, real, real, real, 0, 0, (), why)


@dataclass(frozen=True, slots=True, eq=False)
class EachWait:
    """All waits of a recording, one by one, in no order.

    `rank` waits for `cause` in `call`, an index of the recording's names, by a kind of KINDS, from
    `entered_ns` on for `waited_ns`. `whole` says whether the call went on afterwards.
    """

    rank: Integers
    cause: Integers
    call: Integers
    kind: Integers
    entered_ns: Integers
    waited_ns: Integers
    error_ns: Integers
    whole: NDArray[np.bool_]
    recorded: int
    remarks: tuple[str, ...]


# Columns of the table.
COLUMNS = ("rank", "cause", "call", "kind", "count", "seconds", "longest_s", "error_s")


def packed(waits: Waits) -> str:
    """Return the text for a profile's header; its compression includes a checksum."""
    data: dict[str, Any] = {name: getattr(waits, name).tolist() for name in COLUMNS}
    for name in ("clocks", "recorded", "remarks", "unavailable"):
        data[name] = getattr(waits, name)
    return base64.b64encode(zlib.compress(json.dumps(data, separators=(",", ":")).encode())).decode()


def unpacked(word: str, ranks: int) -> Waits:
    """Return the wait states of `ranks` ranks in a text of `packed`; ValueError if it is damaged."""
    try:
        whole = base64.b64decode(word, validate=True)
        unpacking = zlib.decompressobj()
        words = unpacking.decompress(whole, max(_MOST_BYTES, _MOST_RATIO * len(whole)))
    except zlib.error as error:
        raise ValueError(f"waits: {error}") from None
    if not unpacking.eof:
        more = f"more than the {format_bytes(len(words))} that {format_bytes(len(whole))} can hold"
        raise ValueError(
            "waits: truncated" if not unpacking.unconsumed_tail else f"waits: they unpack to {more}"
        )
    data = JsonObject.of(parsed(words), "waits")
    unavailable = None if data.words.get("unavailable") is None else data.text("unavailable")
    lines = len(data.list("rank", len(words)))

    def whole_numbers(name: str, most: int) -> Integers:
        column = np.array(data.wholes(name, lines) or [], dtype=np.uint64)
        if len(column) != lines or (column > most).any():
            raise ValueError(f"waits.{name} does not have {lines:,} valid lines")
        return column.astype(np.int64)

    def real(name: str) -> Floats:
        column = np.array(data.numbers(name, lines), dtype=np.float64)
        if len(column) != lines or not (column >= 0).all():
            raise ValueError(f"waits.{name} does not have {lines:,} valid lines")
        return column

    call, kind = (
        [data.text_of(value, name) for value in data.list(name, lines)] for name in ("call", "kind")
    )
    if len(call) != lines or len(kind) != lines or not set(kind) <= set(KINDS):
        raise ValueError(f"waits.call or waits.kind does not have {lines:,} valid lines")
    return Waits(
        rank=whole_numbers("rank", ranks - 1),
        cause=whole_numbers("cause", ranks - 1),
        call=np.array(call, dtype=np.str_),
        kind=np.array(kind, dtype=np.str_),
        count=whole_numbers("count", _MOST_COUNT),
        seconds=real("seconds"),
        longest_s=real("longest_s"),
        error_s=real("error_s"),
        clocks=data.whole("clocks"),
        recorded=data.whole("recorded"),
        remarks=tuple(data.texts("remarks", lines + 1000)),
        unavailable=unavailable,
    )
