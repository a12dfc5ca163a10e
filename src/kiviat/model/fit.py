"""Fits the segments of a machine file to measured ping-pongs.

A modelled message of n bytes takes latency + n / bandwidth, with the numbers of the segment of n
(native/simgrid/platform.cpp). Latencies are not negative, and no message is faster than the link. Each
protocol (kiviat.analysis.statistics.changepoints) gets the line of least squared relative errors within
these bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from kiviat.analysis.aggregate.curves import size_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.loggp import pieces_of
from kiviat.analysis.statistics.intervals import Floats
from kiviat.analysis.statistics.lines import slope_through_origin, weighted_line
from kiviat.model.bucket import Bucket, without
from kiviat.record import InputError

# Bandwidth in B/s if the cost per byte is not measurable; above that of any current memory.
_FASTEST = 1e12
_LEAST_POINTS = 3
# Lines within this error are not split; a split has to reduce the largest error to this fraction.
CLOSE, _HELPS = 0.1, 0.8
# Ping-pings that spend more than this fraction of their time on the link say nothing about processors.
_OF_LINK = 0.9
# Both ways at once that take at most this fraction longer than one way are no slower.
_NO_MORE = 0.05
# Range of the eager limit; 64 KiB is assumed if the curve has no switch there.
_LEAST_EAGER_BYTES, _MOST_EAGER_BYTES, _USUAL_EAGER_BYTES = 512, 1 << 20, 1 << 16
# A line tells a bandwidth if bytes take at least this fraction of its longest message; else noise decides.
_BY_BYTES = 0.25
# A sender that waits for its receiver takes at least this many times as long as with the size before.
_WAITS = 3


@dataclass(frozen=True, slots=True)
class Line:
    """Costs of messages from `from_bytes` on.

    If both ranks send at once, they take `exchange_s` more, or `crossing_s` and `crossing_s_per_byte`: the
    median over sizes, or a line through them.
    """

    from_bytes: int
    latency_s: float
    bandwidth: float
    exchange_s: float = 0.0
    crossing_s: float = 0.0
    crossing_s_per_byte: float = 0.0

    def time(self, size_bytes: int) -> float:
        """Return the modelled time of a message in seconds."""
        return self.latency_s + size_bytes / self.bandwidth


@dataclass(frozen=True, slots=True)
class Fitted:
    """The lines of a level and their relative errors.

    `waits_from` is the smallest measured size above the eager limit, None if no limit was detected.

    `points` are measured (bytes, seconds), `fitted_to` those corrected for the bucket. `spread` is the
    relative deviation of launches from their median, in the median over sizes.
    """

    lines: tuple[Line, ...]
    waits_from: int | None
    median_error: float
    max_error: float
    points: tuple[tuple[int, float], ...]
    fitted_to: tuple[tuple[int, float], ...]
    spread: float = 0.0

    def time(self, size_bytes: int) -> float:
        """Return the modelled time of a message in seconds, by the line for its size."""
        return self._line(size_bytes).time(size_bytes)

    def _line(self, size_bytes: int) -> Line:
        return next(line for line in reversed(self.lines) if line.from_bytes <= size_bytes)

    @property
    def best_bandwidth(self) -> float:
        """The bandwidth of the fastest line whose bytes take a measurable time, in bytes per second.

        Without such a line, that of the longest messages.
        """
        longest = {self._line(size): size for size, _ in sorted(self.fitted_to)}
        told = [
            line.bandwidth
            for line, size in longest.items()
            if size / line.bandwidth >= _BY_BYTES * line.time(size)
        ]
        return max(told, default=self.lines[-1].bandwidth)

    def quick(self, link: float) -> bool:
        """Return True if some messages took clearly less time than a link of that rate needs."""
        return any(time < 0.8 * size / link for size, time in self.points)


def fit_level(
    measured: Sequence[Summary],
    link: float | None = None,
    bucket: Bucket | None = None,
    rested: Mapping[int, float] | None = None,
) -> Fitted:
    """Return the fitted costs of a curve of ping-pongs. `link`, in B/s, bounds the rate beyond the bucket.

    `rested` are times in seconds, by size in bytes, of single messages on a link with a full bucket.

    Raise InputError if there are fewer than three usable sizes.
    """
    unaided = without(bucket, measured, link, rested) if bucket and link else []
    points = [pingpong.point for pingpong in unaided] if bucket and link else measured
    if len(points) < _LEAST_POINTS:
        decided = len(measured) - len(points)
        of_these = f", {decided} of them decided by the link's bucket" if decided else ""
        raise InputError(
            f"the run has ping-pongs of {len(measured)} sizes between these ranks{of_these}; measure at "
            f"least {_LEAST_POINTS}{' others' if decided else ''}, better all: -m 0:4M"
        )
    sizes, times = [size_of(point) for point in points], [point.median for point in points]
    switches = pieces_of(points).switches
    starts = [0, *(sizes.index(switch.above) for switch in switches), len(sizes)]
    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(times, dtype=np.float64)
    curve = _Steps(x, y, link, np.asarray([p.seen_s for p in unaided])) if unaided else _Curve(x, y, link)
    parts = [part for i, j in pairwise(starts) for part in curve.parts(i, j)]
    lines = []
    for i, j in parts:
        latency_s, s_per_byte = curve.line(i, j)
        lines.append(Line(sizes[i - 1] + 1 if i else 0, latency_s, 1 / s_per_byte))
    if len(points) < len(measured):
        lines = _bridged(lines, sizes, [size_of(point) for point in measured], link or _FASTEST)
    # Switches below sizes that were left out may be artefacts of the gap.
    left_out = max({size_of(point) for point in measured} - set(sizes), default=0)
    least = max(_LEAST_EAGER_BYTES, left_out)
    # So may those between ping-pongs and single messages, which cost processors more.
    single = {size_of(message.point): message.single for message in unaided}
    eager = [
        switch
        for switch in switches
        if least <= switch.below <= _MOST_EAGER_BYTES and single.get(switch.below) == single.get(switch.above)
    ]
    fitted = Fitted(
        tuple(lines),
        max(eager, key=lambda switch: switch.evidence).below + 1 if eager else None,
        0.0,
        0.0,
        tuple((size_of(point), point.median) for point in measured),
        tuple(zip(sizes, times, strict=True)),
        float(np.median([point.spread or 0.0 for point in measured])) / 2,
    )
    errors = [abs(fitted.time(size) / time - 1) for size, time in fitted.fitted_to]
    return replace(fitted, median_error=float(np.median(errors)), max_error=max(errors))


def with_exchange(
    fitted: Fitted,
    both_ways: Sequence[Summary],
    link: float | None = None,
    bucket: Bucket | None = None,
) -> Fitted:
    """Return `fitted` with the extra time of ping-pings, or of Sendrecv between two ranks, over ping-pongs.

    A sender is still busy after its message has left, or messages that cross disturb each other; a ping-pong
    hides that. Sizes that spend most of the time on the link take the value of the longest other size. If
    the extra time is no more than ping-pongs of a line vary (`_NO_MORE`), messages do not disturb each other.
    """

    def on_link_s(size: int) -> float:
        if not link:
            return 0.0
        return bucket.on_link_s(size, link) if bucket else size / link

    alone = dict(fitted.points)
    longer = {
        size: max(0.0, point.median - alone[size])
        for point in both_ways
        if (size := size_of(point)) in alone and on_link_s(size) <= _OF_LINK * point.median
    }
    lines, exchange_s, crossing = [], 0.0, (0.0, 0.0)
    ends = [*(line.from_bytes for line in fitted.lines[1:]), None]
    for line, end in zip(fitted.lines, ends, strict=True):
        here = [size for size in longer if line.from_bytes <= size and (end is None or size < end)]
        exchange_s = float(np.median([longer[size] for size in here])) if here else exchange_s
        crossing = _crossing(here, longer, alone) if here else crossing
        lines.append(
            replace(
                line,
                exchange_s=exchange_s,
                crossing_s=crossing[0],
                crossing_s_per_byte=crossing[1],
            )
        )
    return replace(fitted, lines=tuple(lines))


def _crossing(
    sizes: Sequence[int], longer: Mapping[int, float], alone: Mapping[int, float]
) -> tuple[float, float]:
    """Return the line of extra times of least relative errors, in s and s/B, neither negative."""
    if np.median([longer[size] / alone[size] for size in sizes]) <= _NO_MORE:
        return 0.0, 0.0
    x, y = np.asarray(sizes, dtype=np.float64), np.asarray([longer[size] for size in sizes])
    weights = np.asarray([(longer[size] + alone[size]) ** -2 for size in sizes])
    candidates = [(float(weights @ y / weights.sum()), 0.0)]
    if any(sizes):
        candidates.append((0.0, slope_through_origin(x, y, weights)))
    if len(set(sizes)) > 1:
        candidates.append(weighted_line(x, y, weights))
    allowed = [(s, s_per_byte) for s, s_per_byte in candidates if min(s, s_per_byte) >= 0]
    return min(allowed, key=lambda line: float(weights @ (line[0] + line[1] * x - y) ** 2))


def _bridged(lines: Sequence[Line], sizes: Sequence[int], measured: Sequence[int], link: float) -> list[Line]:
    """Return `lines` with a straight line across each gap of unusable sizes, not faster than the link."""

    def line_at(size: int) -> Line:
        return next(line for line in reversed(lines) if line.from_bytes <= size)

    bridged = {line.from_bytes: line for line in lines}
    for before, after in pairwise(sizes):
        if not any(before < size < after for size in measured):
            continue
        begins_s, next_line = line_at(before).time(before), line_at(after)
        s_per_byte = max(1 / link, (next_line.time(after) - begins_s) / (after - before))
        latency_s = max(0.0, begins_s - before * s_per_byte)
        bridged[before + 1] = Line(before + 1, latency_s, 1 / s_per_byte)
        bridged[after] = replace(next_line, from_bytes=after)
    return [bridged[start] for start in sorted(bridged)]


def eager_of(levels: Mapping[str, Fitted]) -> tuple[int, bool]:
    """Return the smallest size in bytes whose messages wait for their receiver, as `mpi.eager` in a file.

    The second value is True if it was detected, False if assumed. The transport within nodes differs from the
    network's, so that only the latter counts if measured.
    """
    relevant = [levels["network"]] if "network" in levels else list(levels.values())
    detected = [fitted.waits_from for fitted in relevant if fitted.waits_from is not None]
    return (detected[0], True) if detected else (_USUAL_EAGER_BYTES, False)


def waits_from(senders: Sequence[Summary]) -> int | None:
    """Return the first size whose sender waits for its receiver; None if no size shows that.

    `senders`: times that the sender of a single message spends in the call. It returns from an eager one as
    soon as the message is copied, so its time jumps at the limit, and stays as long.
    """
    points = sorted((size_of(point), point.median) for point in senders)
    for at, ((below, before_s), (size, _)) in enumerate(pairwise(points)):
        if below < _LEAST_EAGER_BYTES or size > _MOST_EAGER_BYTES:
            continue
        if min(later_s for _, later_s in points[at + 1 :]) >= _WAITS * before_s:
            return size
    return None


class _Curve:
    """Sizes `x` in bytes and times `y` in seconds; no line is faster than `link`, in B/s."""

    def __init__(self, x: Floats, y: Floats, link: float | None) -> None:
        self.x, self.y = x, y
        self._least_s_per_byte = 1 / (link or _FASTEST)

    def line(self, i: int, j: int) -> tuple[float, float]:
        """Fit a line to points i to j.

        Return its intercept (at least 0) and slope (at least the link's s/B).
        """
        x, y = self.x[i:j], self.y[i:j]
        if j - i == 1:
            slope = max(self._least_s_per_byte, float(y[0] / x[0]) if x[0] else 0.0)
            return max(0.0, float(y[0] - slope * x[0])), slope
        weights = y**-2
        intercept, slope = weighted_line(x, y, weights)
        if intercept < 0:
            intercept, slope = 0.0, slope_through_origin(x, y, weights)
        if slope < self._least_s_per_byte:
            slope = self._least_s_per_byte
            intercept = max(0.0, float(np.median(y - slope * x)))
        return intercept, slope

    def parts(self, i: int, j: int) -> list[tuple[int, int]]:
        """Return the segments of points i to j.

        Points are split as long as this reduces the error, because a protocol may need several lines.
        """
        worst = self._worst(i, j)
        if worst <= CLOSE or j - i < 2:
            return [(i, j)]
        cut = min(range(i + 1, j), key=lambda at: self._off(i, at) + self._off(at, j))
        return self.parts(i, cut) + self.parts(cut, j) if self._helps(i, cut, j) else [(i, j)]

    def _helps(self, i: int, cut: int, j: int) -> bool:
        return max(self._worst(i, cut), self._worst(cut, j)) <= _HELPS * self._worst(i, j)

    def _errors(self, i: int, j: int) -> Floats:
        latency_s, s_per_byte = self.line(i, j)
        return np.abs((latency_s + s_per_byte * self.x[i:j]) / self.y[i:j] - 1)

    def _worst(self, i: int, j: int) -> float:
        return float(self._errors(i, j).max())

    def _off(self, i: int, j: int) -> float:
        return float(self._errors(i, j).sum())


class _Steps(_Curve):
    """A curve on a link of known rate with a token bucket.

    Every line has the link's slope; the intercepts, which are processor times, increase in steps. Errors are
    relative to the measured times `seen`, which are below `y` if bytes passed without waiting.
    """

    def __init__(self, x: Floats, y: Floats, link: float | None, seen: Floats) -> None:
        super().__init__(x, y, link)
        self._seen = seen

    def line(self, i: int, j: int) -> tuple[float, float]:
        """Return the intercept with the smallest sum of errors, and the link's slope."""
        rest = self.y[i:j] - self._least_s_per_byte * self.x[i:j]
        order = np.argsort(rest)
        weights = np.cumsum(1 / self._seen[i:j][order])
        return max(0.0, float(rest[order][np.searchsorted(weights, weights[-1] / 2)])), self._least_s_per_byte

    def _helps(self, i: int, cut: int, j: int) -> bool:
        """Return whether splitting at `cut` reduces the sum of errors.

        The largest error is not used, because with several steps a split removes only one of them.
        """
        return self._off(i, cut) + self._off(cut, j) <= _HELPS * self._off(i, j)

    def _errors(self, i: int, j: int) -> Floats:
        return super()._errors(i, j) * self.y[i:j] / self._seen[i:j]
