"""Who waited for whom: what `kiviat profile --waits` found, and how it stands in a profile."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

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


def unpacked(word: str) -> Waits:
    """ValueError for what is torn."""
    try:
        told = json.loads(zlib.decompress(base64.b64decode(word)))
    except zlib.error as error:
        raise ValueError(str(error)) from None

    def whole(name: str) -> Integers:
        return np.array(told[name], dtype=np.int64)

    def words(name: str) -> NDArray[np.str_]:
        return np.array(told[name], dtype=np.str_)

    def real(name: str) -> Floats:
        return np.array(told[name], dtype=np.float64)

    return Waits(
        rank=whole("rank"),
        cause=whole("cause"),
        call=words("call"),
        kind=words("kind"),
        count=whole("count"),
        seconds=real("seconds"),
        longest_s=real("longest_s"),
        error_s=real("error_s"),
        clocks=told["clocks"],
        recorded=told["recorded"],
        remarks=tuple(told["remarks"]),
        unavailable=told["unavailable"],
    )
