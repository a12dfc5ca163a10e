"""Curves of one benchmark over message sizes, selected from summaries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from kiviat.analysis.aggregate.summary import Summary

_NEAR = 4  # times between two sizes may be interpolated up to this ratio


def curve(summaries: Iterable[Summary], benchmark: str) -> list[Summary]:
    """Return the times of `benchmark` by increasing message size.

    The curve is that of the fewest ranks measured, with axes at their defaults. Cases beside which other
    ranks waited (`world`) count if there are no others.
    """
    found = [
        summary
        for summary in summaries
        if summary.benchmark == benchmark
        and summary.metric == "time"
        and summary.bytes is not None
        and summary.median > 0
        and not summary.axes.keys() - {"world"}
    ]
    found = [summary for summary in found if not summary.axes] or found
    fewest = min((summary.ranks for summary in found), default=0)
    # Cases that a run names differently but that have one size are one point: slopes need different sizes.
    by_size = {size_of(summary): summary for summary in found if summary.ranks == fewest}
    return [by_size[size] for size in sorted(by_size)]


def size_of(summary: Summary) -> int:
    """Return the message size in bytes, 0 for benchmarks without one."""
    return summary.bytes or 0


def time_at(points: Sequence[Summary], size: float) -> float | None:
    """Return the seconds at `size` bytes, interpolated between the sizes of a curve.

    Below the smallest size it is the time of the smallest; None beyond the largest.
    """
    if not points or size > size_of(points[-1]):
        return None
    for left, right in pairwise(points):
        if size_of(left) < size <= size_of(right):
            share = (size - size_of(left)) / (size_of(right) - size_of(left))
            return left.median + share * (right.median - left.median)
    return points[0].median


def bandwidth(point: Summary) -> float:
    """Return size / time in B/s: the bandwidth of one message at a time."""
    return size_of(point) / point.median


def half_bandwidth_size(points: Sequence[Summary]) -> float | None:
    """Return n½, the smallest size in bytes that reaches half of the curve's peak bandwidth.

    It is measured, not fitted; between two sizes the time is interpolated linearly. None if the smallest size
    already reaches half of the peak, or if the sizes beside n½ are farther apart than by a factor of 4.
    """
    sized = [point for point in points if point.bytes]
    half = max((bandwidth(point) for point in sized), default=0.0) / 2
    for left, right in pairwise(sized):
        if bandwidth(left) < half <= bandwidth(right):
            if size_of(right) > _NEAR * size_of(left):
                return None
            s_per_byte = (right.median - left.median) / (size_of(right) - size_of(left))
            size = half * (left.median - s_per_byte * size_of(left)) / (1 - half * s_per_byte)
            return size if math.isfinite(size) else None
    return None
