"""Token buckets: bytes that an idle link lets pass at once (native/simgrid/bucket.hpp)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kiviat.analysis.aggregate.curves import size_of
from kiviat.analysis.aggregate.summary import Summary

# A ping-pong that spends more than the first fraction of its time on the link is determined by the bucket and
# contains no information on MPI. Samples below the second fraction of the link's time passed without waiting.
_DECIDED, _AT_ONCE = 0.9, 0.5
_ROUNDS = 100
# Long messages show their trailer if they have so many sizes, and it explains them so much better. It begins
# at the largest size that explains them as well, within the last factor.
_LEAST_LONG, _CLEARLY, _AS_GOOD = 3, 0.5, 1.05


@dataclass(frozen=True, slots=True)
class Bucket:
    """Capacities in bytes.

    Of the bucket out of a node, of that into a node, and of a packet, which passes whole. A message is sent
    in frames of at most `frame_bytes`, each with `header_bytes` in addition. From `trailer_from` bytes on, a
    packet follows that contains none of the message's bytes.
    """

    out_bytes: float
    in_bytes: float
    packet_bytes: float
    frame_bytes: int = 1
    header_bytes: int = 0
    trailer_from: float = math.inf

    def at_once(self, size: int, every_s: float, rate: float) -> float:
        """Return the bytes of each message that pass without taking time on the link.

        Messages of `size` bytes are sent every `every_s` seconds, and the link has `rate` bytes per second.
        """
        least = float(size)
        last_packet = size - self.packet_bytes * (math.ceil(size / self.packet_bytes) - 1)
        if size >= self.trailer_from:
            last_packet = 0.0
        for capacity in (self.out_bytes, self.in_bytes):
            left = capacity
            for _ in range(_ROUNDS):
                least = min(least, max(0.0, left + last_packet))
                left = min(capacity, left - size + every_s * rate)
        return least

    def on_link_s(self, size: int, rate: float) -> float:
        """Return how long a message of `size` bytes occupies a link, in seconds.

        `rate` is the link's for long messages, in B/s; headers are a larger part of short ones.
        """
        frames = max(1, math.ceil(size / self.frame_bytes))
        of_frames = (self.frame_bytes + self.header_bytes) / self.frame_bytes * rate
        return (size + frames * self.header_bytes) / of_frames


def with_trailer(
    bucket: Bucket, points: Sequence[Summary], rate: float, rested: Mapping[int, float]
) -> Bucket:
    """Return the bucket with the size from which messages end with a trailer, if the times show one.

    `points` are ping-pongs on a link of `rate` B/s, which carries a message every two ping-pong times;
    `rested` are times in seconds, by size in bytes, of single messages on a link with a full bucket.
    Without the wait for the link, both are costs of processors, which change little among sizes above a
    packet. If the wait is wrong they seem to, by what the last packet needs.
    """
    steady = {
        size_of(point): (point.median, 2 * point.median)
        for point in points
        if not _is_decided(bucket, point, rate)
    }
    seen = steady | {size: (seconds, math.inf) for size, seconds in rested.items()}
    long = {size: times for size, times in seen.items() if size > bucket.packet_bytes}
    if len(long) < _LEAST_LONG:
        return bucket

    def misfit(tried: Bucket) -> float:
        costs_s = {
            size: seen_s - tried.on_link_s(size, rate) + tried.at_once(size, every_s, rate) / rate
            for size, (seen_s, every_s) in long.items()
        }
        usual_s = statistics.median(costs_s.values())
        return sum(abs(cost_s - usual_s) / long[size][0] for size, cost_s in costs_s.items())

    misfits = {size: misfit(replace(bucket, trailer_from=size)) for size in long}
    least = min(misfits.values())
    if least >= _CLEARLY * misfit(bucket):
        return bucket
    return replace(bucket, trailer_from=max(size for size, of in misfits.items() if of <= _AS_GOOD * least))


def _is_decided(bucket: Bucket, ping_pong: Summary, rate: float) -> bool:
    """True if the bucket determined the time of a ping-pong, in which a link carries every other message."""
    return bucket.on_link_s(size_of(ping_pong), rate) / 2 > _DECIDED * ping_pong.median


@dataclass(frozen=True, slots=True)
class Unaided:
    """A ping-pong corrected to links without a bucket, and its measured time, or that of a single message."""

    point: Summary
    seen_s: float
    single: bool


def without(
    bucket: Bucket, points: Sequence[Summary], rate: float, rested: Mapping[int, float] | None = None
) -> list[Unaided]:
    """Return the ping-pongs corrected to links of `rate` B/s without a bucket; omits those it determined.

    Each link carries a message every two ping-pong times, or its bucket is full. `rested` are times in
    seconds, by size in bytes, of single messages on a link with a full bucket; they replace those omitted.
    """
    corrected = []
    for point in points:
        size, seen_s, low_s, high_s = size_of(point), point.median, point.low, point.high
        link_s, every_s = bucket.on_link_s(size, rate) / 2, 2 * seen_s
        if decided := _is_decided(bucket, point, rate):
            quickest_s = point.minimum if point.minimum and point.minimum <= _AT_ONCE * link_s else None
            single_s = (rested or {}).get(size, quickest_s)
            if single_s is None:
                continue
            seen_s, every_s = single_s, math.inf
            low_s = high_s = None
        more_s = bucket.at_once(size, every_s, rate) / rate
        low = None if low_s is None else low_s + more_s
        high = None if high_s is None else high_s + more_s
        corrected.append(Unaided(replace(point, median=seen_s + more_s, low=low, high=high), seen_s, decided))
    return corrected
