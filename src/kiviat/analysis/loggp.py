"""Parameters of message-passing models, from measured curves.

LogP: Culler et al., PPoPP 1993. LogGP: Alexandrov et al., SPAA 1995: one message of k bytes takes L + 2o + (k
− 1)·G, and consecutive messages leave every g. Hockney: Parallel Computing 20 (1994) 389–398.

A ping-pong yields only the sum L + 2o; separating L and o would require a measurement of the processor's
overhead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kiviat.analysis.aggregate.curves import bandwidth, curve, half_bandwidth_size, size_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.statistics.changepoints import Segment, Switch, segments, switches

SMALL_MESSAGE = 8


@dataclass(frozen=True, slots=True)
class LogGP:
    """`latency_s` is L + 2o; `s_per_byte` is G of the largest messages (its inverse is Hockney's r∞).

    `gap_s` is g: seconds between messages of 8 B of one pair with many in flight, None if not measured.
    `segments` are the lines of each protocol, with their errors; `median_error` and `max_error` are relative
    errors of the whole model. `half_bandwidth_bytes` is the measured n½, None if it is not within the curve.
    """

    latency_s: float
    gap_s: float | None
    s_per_byte: float
    switches: tuple[Switch, ...]
    segments: tuple[Segment, ...]
    median_error: float
    max_error: float
    peak_bandwidth: float
    peak_bytes: int
    half_bandwidth_bytes: float | None


def fit_loggp(summaries: Sequence[Summary]) -> LogGP | None:
    """Return the model of one run's ping-pong and uniband.

    None with fewer than three sizes, or if the cost per byte is not measurable.
    """
    points = curve(summaries, "pingpong")
    sizes, times = [size_of(point) for point in points], [point.median for point in points]
    found = protocol_switches(points)
    lines = segments(sizes, times, found)
    if not lines or lines[-1].s_per_byte <= 0:
        return None
    errors = np.abs(
        [
            line.time(size) / time - 1
            for size, time in zip(sizes, times, strict=True)
            for line in lines
            if line.first <= size <= line.last
        ]
    )
    peak = max(points, key=bandwidth)
    return LogGP(
        latency_s=lines[0].latency_s,
        gap_s=_gap(summaries),
        s_per_byte=lines[-1].s_per_byte,
        switches=tuple(found),
        segments=tuple(lines),
        median_error=float(np.median(errors)),
        max_error=float(errors.max()),
        peak_bandwidth=bandwidth(peak),
        peak_bytes=size_of(peak),
        half_bandwidth_bytes=half_bandwidth_size(points),
    )


def protocol_switches(points: Sequence[Summary]) -> list[Switch]:
    """Return the certain protocol switches of a curve.

    Uncertain are those that its intervals (or ranges) over launches may explain.
    """
    half_widths = [
        (point.spread or 0.0) / 2
        if point.low is None or point.high is None
        else (point.high - point.low) / 2 / point.median
        for point in points
    ]
    return switches([size_of(point) for point in points], [point.median for point in points], half_widths)


def _gap(summaries: Sequence[Summary]) -> float | None:
    """Return the seconds per message of one pair; the pairs of uniband send at the same time."""
    rates = [
        summary
        for summary in summaries
        if (summary.benchmark, summary.metric, summary.bytes) == ("uniband", "message_rate", SMALL_MESSAGE)
        and not summary.axes
    ]
    if not rates:
        return None
    fewest = min(rates, key=lambda summary: summary.ranks)
    return fewest.ranks // 2 / fewest.median
