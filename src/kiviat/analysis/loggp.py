"""Parameters of message-passing models, from measured curves.

LogP: Culler et al., PPoPP 1993. LogGP: Alexandrov et al., SPAA 1995: one message of k bytes takes L + 2o + (k
− 1)·G, and consecutive messages leave every g. Hockney: Parallel Computing 20 (1994) 389–398.

A ping-pong yields only the sum L + 2o; separating L and o would require a measurement of the processor's
overhead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kiviat.analysis.aggregate.curves import bandwidth, curve, half_bandwidth_size, size_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.statistics.changepoints import Piecewise, Segment, Switch, piecewise
from kiviat.record.units import format_size, three_digits

SMALL_MESSAGE = 8

# Fit errors above which the parameters describe the curve badly.
POOR_MEDIAN, POOR_MAX = 0.1, 0.25

# Sizes between which an eager limit is plausible.
_LEAST_EAGER_BYTES, _MOST_EAGER_BYTES = 256, 1 << 17


@dataclass(frozen=True, slots=True)
class LogGP:
    """`latency_s` is L + 2o; `s_per_byte` is G of the largest messages (its inverse is Hockney's r∞).

    `gap_s` is g: seconds between messages of 8 B of one pair with many in flight, None if not measured.
    `segments` are the lines of each protocol, with their errors; `median_error` and `max_error` are the
    relative errors of the whole. `outliers` are the sizes off their line. `eager_bytes` is the largest size
    sent eagerly, None if no switch adds the cost of a handshake. `half_bandwidth_bytes` is n½ as measured,
    None if not within the curve.
    """

    latency_s: float
    gap_s: float | None
    s_per_byte: float
    switches: tuple[Switch, ...]
    segments: tuple[Segment, ...]
    outliers: tuple[int, ...]
    eager_bytes: int | None
    median_error: float
    max_error: float
    peak_bandwidth: float
    peak_bytes: int
    half_bandwidth_bytes: float | None

    @property
    def poor(self) -> bool:
        """True if the errors of the lines are so large that the parameters are unreliable."""
        return self.median_error > POOR_MEDIAN or self.max_error > POOR_MAX

    def line(self, size: int) -> Segment:
        """Return the line that covers a size; beyond the curve, the nearest line."""
        return next((line for line in self.segments if size <= line.last), self.segments[-1])


def fit_loggp(summaries: Sequence[Summary]) -> LogGP | None:
    """Return the model of one run's ping-pong and uniband.

    None with fewer than three sizes, or if bytes cost nothing.
    """
    points = curve(summaries, "pingpong")
    pieces = pieces_of(points)
    lines = pieces.segments
    if not lines or lines[-1].s_per_byte <= 0:
        return None
    errors = np.abs(
        [
            line.time(size_of(point)) / point.median - 1
            for point in points
            for line in lines
            if line.first <= size_of(point) <= line.last
        ]
    )
    peak = max(points, key=bandwidth)
    return LogGP(
        latency_s=lines[0].latency_s,
        gap_s=_gap(summaries),
        s_per_byte=lines[-1].s_per_byte,
        switches=pieces.switches,
        segments=lines,
        outliers=pieces.outliers,
        eager_bytes=eager_limit(pieces),
        median_error=float(np.median(errors)),
        max_error=float(errors.max()),
        peak_bandwidth=bandwidth(peak),
        peak_bytes=size_of(peak),
        half_bandwidth_bytes=half_bandwidth_size(points),
    )


def eager_words(fitted: LogGP) -> str:
    """Return the eager limit in words: "probably 2 KiB or little more", or "cannot say"."""
    return (
        "cannot say"
        if fitted.eager_bytes is None
        else f"probably {format_size(fitted.eager_bytes)} or little more"
    )


def fit_warning(fitted: LogGP) -> str:
    """Return a warning if the fit is poor, else an empty text."""
    if not fitted.poor:
        return ""
    return (
        f"The lines are up to {100 * fitted.max_error:.0f} % off the curve (median "
        f"{100 * fitted.median_error:.1f} %): read times from the curve, not from these parameters."
    )


def switch_where(switch: Switch) -> str:
    """Return the location of a switch in words: "between 2 KiB and 4 KiB"."""
    return f"between {format_size(switch.below)} and {format_size(switch.above)}"


def switch_words(switch: Switch) -> str:
    """Return the effect of a switch in words: "messages take 5.17 times as long as smaller ones predict"."""
    if switch.kind == "jump":
        return f"messages take {three_digits(switch.factor)} times as long as smaller ones predict"
    if math.isinf(switch.factor):
        return "size begins to matter"
    if switch.factor < 1:
        return f"each byte is {three_digits(1 / switch.factor)} times cheaper"
    return f"each byte costs {three_digits(switch.factor)} times as much"


def pieces_of(points: Sequence[Summary]) -> Piecewise:
    """Return the lines and switches of a curve.

    Uses its intervals over launches, or its ranges if it has none.
    """
    half_widths = [
        (point.spread or 0.0) / 2
        if point.low is None or point.high is None
        else (point.high - point.low) / 2 / point.median
        for point in points
    ]
    known = half_widths if any(half_widths) else None
    return piecewise([size_of(point) for point in points], [point.median for point in points], known)


def eager_limit(pieces: Piecewise) -> int | None:
    """Return the largest size before the first switch that looks like a rendezvous; None if there is none.

    A rendezvous adds a handshake, at least one more message, and costs no more per byte. So the time jumps
    up, and the intercept grows by at least the time of an empty message.
    """
    for switch in pieces.switches:
        before = next(line for line in pieces.segments if line.last == switch.below)
        after = next(line for line in pieces.segments if line.first == switch.above)
        plausible = _LEAST_EAGER_BYTES <= switch.below <= _MOST_EAGER_BYTES
        up = after.time(switch.above) > before.time(switch.above)
        added = after.latency_s - before.latency_s
        if plausible and up and added >= pieces.segments[0].latency_s:
            return switch.below
    return None


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
