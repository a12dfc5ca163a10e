"""What a link with a token bucket lets pass at once when it has been idle (native/simgrid/bucket.hpp)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kiviat.analysis.aggregate.curves import size_of
from kiviat.analysis.aggregate.summary import Summary

# Ping-pongs that take so much of what the bucket's rate alone allows say what the bucket lets pass, and
# nothing of MPI; but samples in less than this part of the time of that rate passed at once.
_DECIDED, _AT_ONCE = 0.9, 0.5
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


@dataclass(frozen=True, slots=True)
class Unaided:
    """A ping-pong on links that let nothing pass at once, and what it took on those that do."""

    point: Summary
    seen_s: float


def without(bucket: Bucket, points: Sequence[Summary], rate: float) -> list[Unaided]:
    """The ping-pong as it would be on links of that rate that let nothing pass at once, as far as it says.

    Each of its links carries a message every two of its times, or finds its bucket full.
    """
    found = []
    for point in points:
        size, seen_s = size_of(point), point.median
        link_s, every_s = size / rate / 2, 2 * seen_s
        if link_s > _DECIDED * seen_s:
            if point.minimum is None or point.minimum > _AT_ONCE * link_s:
                continue
            seen_s, every_s = point.minimum, math.inf
            point = replace(point, low=None, high=None)
        more_s = bucket.at_once(size, every_s, rate) / rate
        low = None if point.low is None else point.low + more_s
        high = None if point.high is None else point.high + more_s
        found.append(Unaided(replace(point, median=seen_s + more_s, low=low, high=high), seen_s))
    return found
