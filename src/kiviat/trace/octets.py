"""Numbers of seven bits an octet, LEB128, as native code writes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MOST_OCTETS = 10


def numbers_of(packed: bytes) -> NDArray[np.uint64]:
    """All numbers of a text of bytes; one that is cut off at its end is left out.

    ValueError where one is longer than 64 bits can be.
    """
    octets = np.frombuffer(packed, dtype=np.uint8)
    ends = np.flatnonzero(octets < 0x80)
    if not ends.size:
        return np.zeros(0, dtype=np.uint64)
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    if lengths.max() > _MOST_OCTETS:
        raise ValueError(f"a number of {lengths.max():,} octets, at most {_MOST_OCTETS} can be")
    numbers = np.zeros(len(ends), dtype=np.uint64)
    for digit in range(int(lengths.max())):
        has = lengths > digit
        part = octets[starts[has] + digit].astype(np.uint64) & np.uint64(0x7F)
        numbers[has] |= part << np.uint64(7 * digit)
    return numbers
