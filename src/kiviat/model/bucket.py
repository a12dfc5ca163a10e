"""What a link with a token bucket lets pass at once when it has been idle (native/sim/bucket.hpp)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kiviat.analysis.curves import size_of
from kiviat.analysis.summary import Summary

# Ping-pongs that take so much of what the bucket's rate alone allows say what the bucket lets pass, and
# nothing of MPI.
_DECIDED = 0.75
_ROUNDS = 100


@dataclass(frozen=True, slots=True)
class Bucket:
    """In bytes of messages: what leaves an idle node, what reaches one, and what passes as a whole."""

    out_bytes: float
    in_bytes: float
    packet_bytes: float

    def at_once(self, size: int, every_s: float, rate: float) -> float:
        """Bytes that cost no time, of one of many messages of `size` that set out every so many seconds."""
        least = float(size)
        last_packet = size - self.packet_bytes * (math.ceil(size / self.packet_bytes) - 1)
        for capacity in (self.out_bytes, self.in_bytes):
            left = capacity
            for _ in range(_ROUNDS):
                least = min(least, max(0.0, left + last_packet))
                left = min(capacity, left - size + every_s * rate)
        return least


def without(bucket: Bucket, points: Sequence[Summary], rate: float) -> list[Summary]:
    """The ping-pong as it would be on links of that rate that let nothing pass at once, as far as it says.

    Each of its links carries a message every two of its times.
    """
    found = []
    for point in points:
        size, every_s = size_of(point), 2 * point.median
        if size > _DECIDED * rate * every_s:
            continue
        more_s = bucket.at_once(size, every_s, rate) / rate
        low, high = point.low, point.high
        found.append(
            replace(
                point,
                median=point.median + more_s,
                low=None if low is None else low + more_s,
                high=None if high is None else high + more_s,
            )
        )
    return found
