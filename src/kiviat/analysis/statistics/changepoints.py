"""Protocol switches: message sizes at which times leave one line and follow another.

Within one protocol a message of b bytes takes α + β·b with α, β ≥ 0. Another line begins at a switch from
eager to rendezvous, at another method of copying, or where a cache is exceeded. The curve is cut into pieces
of at least two points, exactly, by dynamic programming (Bai, Perron: Journal of Applied Econometrics 18
(2003) 1–22), which minimises the errors of the lines in log time plus a penalty for each cut. The error of a
point counts up to a cap, so that a single outlier neither bends a line nor becomes a piece (Rousseeuw, Leroy:
Robust Regression and Outlier Detection, 1987, chapter 1). Cuts that hardly change the time remain in the fit,
but are not reported as switches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kiviat.analysis.statistics.intervals import Floats
from kiviat.analysis.statistics.lines import slope_through_origin, weighted_line

_LEAST_POINTS = 3  # for a line with an error
_LEAST_POINTS_TO_CUT = 6
_LEAST_PIECE = 2

# Times of one protocol deviate from a line by this much, however narrow the intervals are.
_MISFIT = 0.03
# Largest squared error of a point, in standard deviations.
_CAP = 12.0
# Cost of a cut. It exceeds the cap, so that one point is never worth a cut.
_PENALTY = 12.5
# Up to this size, scatter of times is attributed to clock and scheduler.
_SMALL_BYTES = 64

# Smaller changes of the time, or of its slope in log-log scale, are not reported.
_MIN_JUMP = 1.12
_MIN_BEND = 0.4
# A jump by this factor that is visible from both sides is always a cut, whatever the total cost of the lines.
_SURE_JUMP = 1.28
# The last sizes leave their line if each time grows faster than its size by the first factor, and all
# together by the second.
_FASTER_THAN_SIZE, _MIN_TAIL_EXCESS = 1.1, 1.25


@dataclass(frozen=True, slots=True)
class Segment:
    """A line from `first` to `last` bytes: time = `latency_s` + `s_per_byte`·bytes; errors are relative.

    `latency_s` is an intercept; if the segment begins at large sizes, no message takes that time.
    """

    first: int
    last: int
    latency_s: float
    s_per_byte: float
    median_error: float
    max_error: float

    def time(self, size: int) -> float:
        """Return seconds on the line, inside the segment or beyond."""
        return self.latency_s + self.s_per_byte * size


@dataclass(frozen=True, slots=True)
class Switch:
    """A change of lines between messages of `below` and of `above` bytes.

    `kind` is "jump" if the lines do not meet: the line of larger sizes is `factor` times that of smaller ones
    at the switch; or "bend" if they meet, but each further byte costs `factor` times as much (inf if its cost
    was not measurable before). `evidence` is the increase of the fit's squared error without this cut, in
    squared standard deviations, beyond the penalty of a cut.
    """

    below: int
    above: int
    kind: str
    factor: float
    evidence: float


@dataclass(frozen=True, slots=True)
class Piecewise:
    """The lines of a curve, the significant switches between them, and the sizes that are outliers."""

    segments: tuple[Segment, ...]
    switches: tuple[Switch, ...]
    outliers: tuple[int, ...]


def piecewise(
    sizes: Sequence[int], times: Sequence[float], half_widths: Sequence[float] | None = None
) -> Piecewise:
    """Return the pieces of a curve: `times` in seconds, positive, over growing `sizes` in bytes.

    `half_widths` are the relative half widths of the 95 % intervals of the times; without them the noise is
    estimated from the scatter of small messages. A curve with fewer than six sizes is one line; with fewer
    than three sizes it has no line.
    """
    n = len(sizes)
    if n < _LEAST_POINTS:
        return Piecewise((), (), ())
    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(times, dtype=np.float64)
    noise = _noise(x, y, half_widths)
    widths = np.zeros(n) if half_widths is None else np.asarray(half_widths, dtype=np.float64)
    tail = n if n < _LEAST_POINTS_TO_CUT else _tail(x, y, widths)
    lines = _Lines(x[:tail], y[:tail], noise[:tail])
    cuts = lines.best_cuts(_sure(x[:tail], y[:tail], noise[:tail])) if n >= _LEAST_POINTS_TO_CUT else []
    ends = [0, *cuts, tail]
    fits = [lines.fit(i, j) for i, j in pairwise(ends)]
    found = []
    for place, cut in enumerate(cuts):
        before, _, after = ends[place : place + 3]
        gain = lines.cost[before, after] - lines.cost[before, cut] - lines.cost[cut, after]
        near = fits[place], _local(x[cut:after], y[cut:after], fits[place + 1])
        change = _change(*near, x, cut, 2 * float(noise[cut - 1 : cut + 1].max()))
        if change is not None and _disjoint(y, widths, cut):
            found.append(Switch(sizes[cut - 1], sizes[cut], *change, float(gain) - _PENALTY))
    if tail < n:
        factor = float(y[tail] / _time(fits[-1], x[tail]))
        evidence = (math.log(factor) / noise[tail]) ** 2 - _PENALTY
        found.append(Switch(sizes[tail - 1], sizes[tail], "jump", factor, float(evidence)))
        fits.append(_tail_fit(x[tail:], y[tail:]))
        ends.append(n)
    pieces = list(zip(pairwise(ends), fits, strict=True))
    off = [
        size
        for (i, j), fit in pieces
        for size, error, scale in zip(sizes[i:j], _log_errors(x[i:j], y[i:j], fit), noise[i:j], strict=True)
        if (error / scale) ** 2 > _CAP
    ]
    return Piecewise(tuple(_segment(x[i:j], y[i:j], fit) for (i, j), fit in pieces), tuple(found), tuple(off))


_Fit = tuple[float, float]  # intercept and slope


def _noise(x: Floats, y: Floats, half_widths: Sequence[float] | None) -> Floats:
    """Return the standard deviation of the logarithm of each time."""
    if half_widths is not None:
        return np.sqrt(_MISFIT**2 + (np.asarray(half_widths) / 1.96) ** 2)
    small = y[x <= _SMALL_BYTES]
    if len(small) < _LEAST_POINTS_TO_CUT - 1:
        return np.full(len(y), _MISFIT)
    # Second differences cancel a line; their standard deviation is √6 times that of the times.
    scatter_s = 1.4826 * np.median(np.abs(np.diff(small, 2))) / math.sqrt(6)
    return np.asarray(np.sqrt(_MISFIT**2 + (scatter_s / y) ** 2))


class _Lines:
    """The best line of each range of points, and its cost."""

    def __init__(self, x: Floats, y: Floats, noise: Floats) -> None:
        self._x, self._y, self._noise = x, y, noise
        n = len(x)
        self.cost = np.full((n + 1, n + 1), math.inf)
        intercepts, slopes = self._candidates()
        errors = self._capped(intercepts[:, None], slopes[:, None], slice(None))
        sums = np.concatenate([np.zeros((len(intercepts), 1)), np.cumsum(errors, axis=1)], axis=1)
        self._choice: dict[tuple[int, int], _Fit] = {}
        for i in range(n):
            costs = sums[:, i + 1 :] - sums[:, [i]]
            places = costs.argmin(axis=0)
            self.cost[i, i + 1 :] = costs[places, np.arange(n - i)]
            for j, place in enumerate(places, i + 1):
                self._choice[i, j] = float(intercepts[place]), float(slopes[place])

    def fit(self, i: int, j: int) -> _Fit:
        """Return intercept and slope of points i to j - 1."""
        return self._refined(i, j, self._choice[i, j])

    def best_cuts(self, sure: Sequence[int]) -> list[int]:
        """Return the first point of each piece except the first; the cuts in `sure` are always included."""
        n = len(self._x)
        reached: dict[int, tuple[float, list[int]]] = {0: (-_PENALTY, [])}
        for j in range(_LEAST_PIECE, n + 1):
            starts = range(max((cut for cut in sure if cut < j), default=0), j - _LEAST_PIECE + 1)
            ways = [
                (reached[i][0] + _PENALTY + float(self.cost[i, j]), [*reached[i][1], i])
                for i in starts
                if i in reached
            ]
            if ways:
                reached[j] = min(ways)
        return reached[n][1][1:]

    def _candidates(self) -> tuple[Floats, Floats]:
        """Return lines that do not fall: through two points, constant, or through the origin."""
        x, y = self._x, self._y
        i, j = np.triu_indices(len(x), 1)
        i, j = i[x[i] < x[j]], j[x[i] < x[j]]  # ingested curves may repeat a size
        slopes = (y[j] - y[i]) / (x[j] - x[i])
        intercepts = y[i] - slopes * x[i]
        rising = (slopes >= 0) & (intercepts >= 0)
        sized = x > 0
        constant, proportional = np.zeros(len(y)), y[sized] / x[sized]
        return (
            np.concatenate([intercepts[rising], y, np.zeros(len(proportional))]),
            np.concatenate([slopes[rising], constant, proportional]),
        )

    def _capped(self, intercepts: Floats | float, slopes: Floats | float, where: slice) -> Floats:
        with np.errstate(divide="ignore"):
            errors = np.log(self._y[where] / (intercepts + slopes * self._x[where]))
        return np.asarray(np.minimum((errors / self._noise[where]) ** 2, _CAP))

    def _refined(self, i: int, j: int, fit: _Fit) -> _Fit:
        """Return the least-squares line of the points near `fit` if it is better than `fit`."""
        where = slice(i, j)
        errors = self._capped(*fit, where)
        near = errors < _CAP
        if near.sum() <= _LEAST_PIECE:
            return fit
        weights = (self._y[where][near] * self._noise[where][near]) ** -2
        better = _least_squares(self._x[where][near], self._y[where][near], weights)
        refined = self._capped(*better, where)
        return better if refined.sum() < errors.sum() else fit


def _least_squares(x: Floats, y: Floats, weights: Floats) -> _Fit:
    """Return intercept and slope, both nonnegative, of the line with the least weighted squares."""
    constant = float(weights @ y / weights.sum()), 0.0
    if x[0] == x[-1]:
        return constant
    intercept, slope = weighted_line(x, y, weights)
    if slope < 0:
        return constant
    return (intercept, slope) if intercept >= 0 else (0.0, slope_through_origin(x, y, weights))


def _local(x: Floats, y: Floats, fit: _Fit) -> _Fit:
    """Return the line near the first points of a piece.

    If the piece's line goes through the origin because its intercept would be negative, this is the line
    through the first points with any intercept: where times bend upwards, the lines meet.
    """
    if fit[0] > 0 or len(x) < _LEAST_PIECE:
        return fit
    x, y = x[:_LEAST_POINTS], y[:_LEAST_POINTS]
    slope, intercept = np.polyfit(x, y, 1, w=1 / y)
    return float(intercept), float(slope)


def _change(before: _Fit, after: _Fit, x: Floats, cut: int, noise: float) -> tuple[str, float] | None:
    """Return kind and factor of the change from one line to the next, if it is worth reporting."""
    steps = [_log_ratio(_time(after, size), _time(before, size)) for size in x[cut - 1 : cut + 1]]
    # lines that cross in between count as meeting
    step = min(steps, key=abs) if steps[0] * steps[1] > 0 else 0.0
    jump = abs(step) / max(math.log(_MIN_JUMP), noise)
    bend = abs(_exponent(after, x[cut]) - _exponent(before, x[cut])) / _MIN_BEND
    if math.hypot(jump, bend) <= 1:
        return None
    if jump > min(1.0, bend):
        return "jump", math.exp(step)
    return "bend", after[1] / before[1] if before[1] > 0 else math.inf


def _disjoint(y: Floats, widths: Floats, cut: int) -> bool:
    """Return whether the intervals on both sides of a cut are disjoint, or unknown."""
    low, high = y * (1 - widths), y * (1 + widths)
    return bool(low[cut] > high[cut - 1] or high[cut] < low[cut - 1]) or not widths.any()


def _tail(x: Floats, y: Floats, widths: Floats) -> int:
    """Return the first of the last points whose times grow faster than their sizes, unlike a line."""
    start, excess = len(x), 1.0
    while start > _LEAST_POINTS and x[start - 2] > 0:
        growth = float(y[start - 1] / y[start - 2] / (x[start - 1] / x[start - 2]))
        if growth <= _FASTER_THAN_SIZE + widths[start - 1] + widths[start - 2]:
            break
        start, excess = start - 1, excess * growth
    return start if excess > _MIN_TAIL_EXCESS else len(x)


def _tail_fit(x: Floats, y: Floats) -> _Fit:
    """Return the line of times that grow faster than their sizes; its intercept may be negative."""
    if len(x) == 1:
        return 0.0, float(y[0] / x[0])
    slope = float((y[-1] - y[0]) / (x[-1] - x[0]))
    return float(y[0] - slope * x[0]), slope


def _sure(x: Floats, y: Floats, noise: Floats) -> list[int]:
    """Return the points before which the time certainly jumps up.

    Two points on each side are off the line through the three nearest points on the other side.
    """
    steps = {cut: _sustained(x, y, cut) for cut in range(_LEAST_PIECE, len(x) - _LEAST_PIECE + 1)}
    high = {
        cut: step
        for cut, step in steps.items()
        if step > max(math.log(_SURE_JUMP), 3 * float(noise[cut - 1 : cut + 1].max()))
    }
    kept: list[int] = []
    for cut in sorted(high, key=lambda place: -high[place]):
        if all(abs(cut - other) >= _LEAST_PIECE for other in kept):
            kept.append(cut)
    return sorted(kept)


def _sustained(x: Floats, y: Floats, cut: int) -> float:
    """Return the smallest log ratio of times from `cut` on to the line of smaller sizes, and vice versa."""
    before, after = slice(max(0, cut - _LEAST_POINTS), cut), slice(cut, cut + _LEAST_POINTS)
    left = _least_squares(x[before], y[before], y[before] ** -2)
    right = _least_squares(x[after], y[after], y[after] ** -2)
    return min(
        *(_log_ratio(y[place], _time(left, x[place])) for place in (cut, cut + 1)),
        *(_log_ratio(_time(right, x[place]), y[place]) for place in (cut - 1, cut - 2)),
    )


def _time(fit: _Fit, size: float) -> float:
    return fit[0] + fit[1] * float(size)


def _exponent(fit: _Fit, size: float) -> float:
    """Return the slope of a line in log-log scale: the share of the time that is proportional to the size."""
    return fit[1] * float(size) / _time(fit, size)


def _log_ratio(a: float, b: float) -> float:
    """Return the log ratio of two times; 0 if a line has no time."""
    return math.log(a / b) if a > 0 and b > 0 else 0.0


def _log_errors(x: Floats, y: Floats, fit: _Fit) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(y / (fit[0] + fit[1] * x)))


def _segment(x: Floats, y: Floats, fit: _Fit) -> Segment:
    errors = np.abs((fit[0] + fit[1] * x) / y - 1)
    return Segment(int(x[0]), int(x[-1]), *fit, float(np.median(errors)), float(errors.max()))
