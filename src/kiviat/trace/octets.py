"""Decoding of LEB128 numbers (seven bits a byte), which native code writes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MOST_OCTETS = 10


def numbers_of(packed: bytes) -> NDArray[np.uint64]:
    """Return all numbers in `packed`, without an incomplete last one.

    Raise ValueError if a number is longer than 64 bits.
    """
    octets = np.frombuffer(packed, dtype=np.uint8)
    ends = np.flatnonzero(octets < 0x80)
    if not ends.size:
        return np.zeros(0, dtype=np.uint64)
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    if lengths.max() > _MOST_OCTETS:
        raise ValueError(f"a number has {lengths.max():,} bytes, at most {_MOST_OCTETS} are possible")
    numbers = np.zeros(len(ends), dtype=np.uint64)
    for digit in range(int(lengths.max())):
        has = lengths > digit
        part = octets[starts[has] + digit].astype(np.uint64) & np.uint64(0x7F)
        numbers[has] |= part << np.uint64(7 * digit)
    return numbers
