"""One benchmark over message sizes, picked from many summaries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from kiviat.analysis.aggregate.summary import Summary


def curve(summaries: Iterable[Summary], benchmark: str) -> list[Summary]:
    """The times of `benchmark` over message sizes, growing; fewest ranks measured, axes at their defaults."""
    found = [
        summary
        for summary in summaries
        if summary.benchmark == benchmark
        and summary.metric == "time"
        and summary.bytes is not None
        and summary.median > 0
        and not summary.axes
    ]
    fewest = min((summary.ranks for summary in found), default=0)
    return sorted((summary for summary in found if summary.ranks == fewest), key=size_of)


def size_of(summary: Summary) -> int:
    """Its message size in bytes; 0 where the benchmark has none."""
    return summary.bytes or 0


def time_at(points: Sequence[Summary], size: float) -> float | None:
    """Seconds at `size` bytes, interpolated between the sizes of a curve; None beyond the largest.

    Below the smallest size, the time of the smallest.
    """
    if not points or size > size_of(points[-1]):
        return None
    for left, right in pairwise(points):
        if size_of(left) < size <= size_of(right):
            share = (size - size_of(left)) / (size_of(right) - size_of(left))
            return left.median + share * (right.median - left.median)
    return points[0].median


def bandwidth(point: Summary) -> float:
    """Bytes per second of one message at a time."""
    return size_of(point) / point.median


def half_bandwidth_size(points: Sequence[Summary]) -> float | None:
    """n½: the smallest size, in bytes, that reaches half of the curve's peak bandwidth.

    Measured, not fitted; between two sizes the time is taken as linear. None where the smallest size
    already reaches it, so that n½ is not within the curve.
    """
    sized = [point for point in points if point.bytes]
    half = max((bandwidth(point) for point in sized), default=0.0) / 2
    for left, right in pairwise(sized):
        if bandwidth(left) < half <= bandwidth(right):
            s_per_byte = (right.median - left.median) / (size_of(right) - size_of(left))
            return half * (left.median - s_per_byte * size_of(left)) / (1 - half * s_per_byte)
    return None
