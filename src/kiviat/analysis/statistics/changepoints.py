"""Protocol switches: sizes at which the time of a message stops following one straight line.

Within one protocol a message of b bytes takes α + β·b. A switch from eager to rendezvous, or to another way
of copying, starts another line. The curve is cut where the squared relative errors of the lines are least
(exactly, by dynamic programming; Bai, Perron: Journal of Applied Econometrics 18 (2003) 1–22), into as many
pieces as an information criterion permits; cuts with too small an effect are then dropped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kiviat.analysis.statistics.intervals import Floats

_MIN_POINTS = 3
_MAX_CUTS = 5

# Cost of a cut, times ln(points): two parameters of a line, the position, and the search for it. With 23
# sizes and 2 % noise, about one straight line in a hundred is cut (measured; see the tests).
_PENALTY = 5.0

# Lower limit of the relative noise; better fits are chance.
_NOISE_FLOOR = 0.005

# Smaller steps of the time, or smaller contributions of a change of slope, are not reported.
_MIN_JUMP = 1.10
_MIN_BEND = 0.25


@dataclass(frozen=True, slots=True)
class Segment:
    """From `first` to `last` bytes the time is `latency_s` + `s_per_byte`·bytes; errors are relative.

    `latency_s` is the intercept only: if the segment begins at large sizes, it is not a time that anything
    takes.
    """

    first: int
    last: int
    latency_s: float
    s_per_byte: float
    median_error: float
    max_error: float

    def time(self, size: int) -> float:
        """Return the seconds on the line for a size in bytes, within the segment or beyond."""
        return self.latency_s + self.s_per_byte * size


@dataclass(frozen=True, slots=True)
class Switch:
    """A change of the line between messages of `below` and of `above` bytes.

    `kind`: "jump" if the line of the larger sizes is there `factor` times that of the smaller ones; "bend" if
    the lines meet, but each further byte costs `factor` times as much (inf if it cost nothing measurable
    before). `evidence`: increase of the information criterion without this switch; beyond 10 is very strong.
    """

    below: int
    above: int
    kind: str
    factor: float
    evidence: float


def switches(
    sizes: Sequence[int], times: Sequence[float], half_widths: Sequence[float] | None = None
) -> list[Switch]:
    """Return the protocol switches of a curve: `times` in seconds over increasing `sizes` in bytes.

    `half_widths` are the relative half widths of the times' intervals; a jump must exceed those of the two
    sizes around it. A smooth curve, or one of fewer than six sizes, has no switches.
    """
    if len(sizes) < 2 * _MIN_POINTS:
        return []
    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(times, dtype=np.float64)
    cuts = _best_cuts(x, y)
    criterion = _criterion(x, y, cuts)
    lines = _lines(x, y, cuts)
    found = []
    for i, cut in enumerate(cuts):
        noise = 0.0 if half_widths is None else half_widths[cut - 1] + half_widths[cut]
        change = _change(lines[i], lines[i + 1], noise)
        if change is not None:
            evidence = _criterion(x, y, cuts[:i] + cuts[i + 1 :]) - criterion
            found.append(Switch(sizes[cut - 1], sizes[cut], *change, evidence))
    return found


def segments(sizes: Sequence[int], times: Sequence[float], found: Sequence[Switch]) -> list[Segment]:
    """Return the lines between the switches `found` in the same curve; none for fewer than three sizes."""
    if len(sizes) < _MIN_POINTS:
        return []
    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(times, dtype=np.float64)
    return _lines(x, y, [sizes.index(switch.above) for switch in found])


def _change(before: Segment, after: Segment, noise: float) -> tuple[str, float] | None:
    """Return kind and factor of the change from one line to the next; None if it is too small."""
    steps = [_log_ratio(after.time(size), before.time(size)) for size in (before.last, after.first)]
    step = min(steps, key=abs)  # lines that intersect in between meet, which is a bend
    if steps[0] * steps[1] > 0 and abs(step) > max(math.log(_MIN_JUMP), noise):
        return "jump", math.exp(step)
    if abs(after.s_per_byte - before.s_per_byte) * after.first > _MIN_BEND * after.time(after.first):
        return "bend", after.s_per_byte / before.s_per_byte if before.s_per_byte > 0 else math.inf
    return None


def _log_ratio(a: float, b: float) -> float:
    """Return log(a / b), or 0 if a line is not positive there."""
    return math.log(a / b) if a > 0 and b > 0 else 0.0


def _best_cuts(x: Floats, y: Floats) -> list[int]:
    """Return the first points of the second and later pieces: the optimum by the criterion."""
    n = len(x)
    cost = {
        (i, j): _squared_error(x[i:j], y[i:j])
        for i in range(n - _MIN_POINTS + 1)
        for j in range(i + _MIN_POINTS, n + 1)
    }
    # reached[j]: the least error of the first j points in the current number of pieces, and the starts of
    # these.
    reached = {j: (cost[0, j], [0]) for j in range(_MIN_POINTS, n + 1)}
    candidates: list[list[int]] = [[]]
    for _ in range(_MAX_CUTS):
        reached = {
            j: min((reached[i][0] + cost[i, j], [*reached[i][1], i]) for i in reached if (i, j) in cost)
            for j in range(n + 1)
            if any((i, j) in cost for i in reached)
        }
        if n not in reached:
            break
        candidates.append(reached[n][1][1:])
    return min(candidates, key=lambda cuts: _criterion(x, y, cuts))


def _criterion(x: Floats, y: Floats, cuts: Sequence[int]) -> float:
    n = len(x)
    error = sum(_squared_error(x[i:j], y[i:j]) for i, j in zip([0, *cuts], [*cuts, n], strict=True))
    return n * math.log(error / n + _NOISE_FLOOR**2) + _PENALTY * math.log(n) * len(cuts)


def _lines(x: Floats, y: Floats, cuts: Sequence[int]) -> list[Segment]:
    lines = []
    for i, j in zip([0, *cuts], [*cuts, len(x)], strict=True):
        latency_s, s_per_byte = _fit(x[i:j], y[i:j])
        errors = np.abs(latency_s + s_per_byte * x[i:j] - y[i:j]) / y[i:j]
        ends = int(x[i]), int(x[j - 1])
        lines.append(Segment(*ends, latency_s, s_per_byte, float(np.median(errors)), float(errors.max())))
    return lines


def _squared_error(x: Floats, y: Floats) -> float:
    latency_s, s_per_byte = _fit(x, y)
    return float((((latency_s + s_per_byte * x) / y - 1) ** 2).sum())


def _fit(x: Floats, y: Floats) -> tuple[float, float]:
    """Return intercept and slope of the line with the least squared relative errors."""
    weights = y**-2 / (y**-2).sum()
    mean_x, mean_y = weights @ x, weights @ y
    slope = (weights @ ((x - mean_x) * (y - mean_y))) / (weights @ (x - mean_x) ** 2)
    return float(mean_y - slope * mean_x), float(slope)
