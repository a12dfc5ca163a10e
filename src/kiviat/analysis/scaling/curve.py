"""The points of one curve: speedup, efficiency and serial fraction with their bounds, and the laws.

With C the work done per second, p0 the smallest number of ranks and k = P/p0:

- speedup S = C(P) / C(p0), for weak scaling called scaled speedup (Gustafson, 1988);
- efficiency E = S / k;
- serial fraction, strong: (1/S − 1/k) / (1 − 1/k) (Karp, Flatt: Communications of the ACM 33 (1990)
  539–543); weak: (k − S) / (k − 1) (Gustafson). Both refer to the time on p0 ranks, and are negative if
  speedup is superlinear.

The interval of a ratio follows from the two samples of launches (analysis.statistics.rank_tests), if both
have at least five; with fewer launches it is the range of all ratios of launches. A simulation, or a single
launch, has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import mul

import numpy as np

from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.scaling.energy import Power, nodes_used, power_of, sockets_of, whole_factor
from kiviat.analysis.scaling.laws import Choice, Fit, choose
from kiviat.analysis.scaling.problem_size import Size
from kiviat.analysis.statistics.intervals import MIN_LAUNCHES, Floats
from kiviat.analysis.statistics.rank_tests import shifts
from kiviat.record.run import Run
from kiviat.record.traits import Traits
from kiviat.record.types import Row


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio with its bounds `low` and `high`, whose meaning the point gives; None if they are unknown."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Both bounds, or None."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True, slots=True)
class Point:
    """One number of ranks. `value` is the median of launch medians, of all ranks together.

    `least` and `most` are the extremes of all samples, None for a simulation, which has one sample. `low` and
    `high` are the 95 % interval, from five launches on. `meaning` names the bounds of the ratios: "95 %", or
    the range of too few launches; empty without bounds. `serial` is None on the smallest number of ranks, to
    which all others are compared.
    """

    ranks: int
    nodes: int | None
    sockets: int | None
    value: float
    least: float | None
    most: float | None
    low: float | None
    high: float | None
    launches: int
    samples: int
    oversubscribed: bool
    disturbed: bool
    case: str
    run: str
    size: Size | None
    meaning: str
    speedup: Ratio
    efficiency: Ratio
    serial: Ratio | None
    power: Power
    times: tuple[float, ...]  # T of each launch (see analysis.scaling.laws)

    @property
    def fair(self) -> bool:
        """True if the ranks had the processors to themselves: laws are fitted to such points only."""
        return not self.unfair

    @property
    def unfair(self) -> str:
        """The reason why the ranks had not, "disturbed" or "oversubscribed"; empty if they had."""
        return "disturbed" if self.disturbed else "oversubscribed" if self.oversubscribed else ""


@dataclass(frozen=True, slots=True)
class Prediction:
    """Prediction of a law for `ranks`.

    `beyond`: multiple of the largest measured number of ranks, None within the measured range.
    """

    law: str
    ranks: int
    value: float
    low: float | None
    high: float | None
    beyond: float | None


@dataclass(frozen=True, slots=True)
class Curve:
    """The curve of a machine.

    Points by ranks, laws fitted to them, and reasons for missing numbers of ranks.
    """

    label: str
    runs: tuple[str, ...]
    clock: str
    points: tuple[Point, ...]
    choice: Choice
    missing: tuple[tuple[int, str], ...]
    kind: str
    rate: bool

    @property
    def largest(self) -> int:
        """The largest number of ranks."""
        return self.points[-1].ranks

    @property
    def how(self) -> str:
        """The origin of its values: "measured", "simulated", or "reported" by another program."""
        return "measured" if self.clock == "wall" else self.clock

    def predicted(self, fit: Fit, ranks: float) -> tuple[float, float | None, float | None]:
        """Return the quantity predicted by a law, with its 95 % band."""
        time, low, high = fit.time(ranks)
        if not self.rate:
            return time, low, high
        work = ranks if self.kind == "weak" else 1.0
        turned = [None if bound is None else work / bound for bound in (high, low)]
        return work / time, turned[0], turned[1]

    def prediction(self, fit: Fit, ranks: int) -> Prediction:
        """Return the prediction with its distance from the measured range."""
        at = [point.ranks for point in self.points if point.fair]
        beyond = ranks / at[-1] if ranks > at[-1] else ranks / at[0] if ranks < at[0] else None
        return Prediction(fit.name, ranks, *self.predicted(fit, ranks), beyond)


def curve_of(
    label: str,
    runs: Mapping[str, Run],
    summaries: Sequence[Summary],
    traits: Traits,
    sizes: Sequence[Size | None],
    kind: str,
    *,
    failed: Sequence[Row],
    grids: Sequence[Grid],
    seconds: Mapping[str, float],
) -> Curve:
    """Return the curve through `summaries`, which ascend by ranks.

    `failed` are the rows without a result, `seconds` the times of cases that have one.
    """
    first = summaries[0]
    rate, simulated = first.better == "higher", first.clock == "simulated"
    base = _times(first, kind, rate, whole_factor(first, traits))
    points = []
    for one, size in zip(summaries, sizes, strict=True):
        factor = whole_factor(one, traits)
        times = _times(one, kind, rate, factor)
        k = one.ranks / first.ranks
        gained, meaning = ratio_of(base, times, one.clock) if one is not first else (Ratio(1.0), "")
        # Strong scaling divides the work, and so T, among ranks; weak scaling keeps T.
        speedup = _mapped(gained, partial(mul, k)) if kind == "weak" else gained
        points.append(
            Point(
                ranks=one.ranks,
                nodes=nodes_used(runs[one.run], one.ranks),
                sockets=sockets_of(runs[one.run], one.ranks),
                value=one.median * factor,
                least=None if simulated or one.minimum is None else one.minimum * factor,
                most=None if simulated or one.maximum is None else one.maximum * factor,
                low=None if one.low is None else one.low * factor,
                high=None if one.high is None else one.high * factor,
                launches=one.launches,
                samples=one.samples,
                oversubscribed=one.oversubscribed,
                disturbed=one.disturbed > 0,
                case=one.case,
                run=one.run,
                size=size,
                meaning=meaning,
                speedup=speedup,
                efficiency=_mapped(speedup, partial(_over, k)),
                serial=None if one is first else _serial(speedup, k, kind),
                power=power_of(runs[one.run], one, factor, grids, seconds.get(one.case)),
                times=tuple(times.tolist()),
            )
        )
    fair = {point.ranks: point.times for point in points if point.fair}
    return Curve(
        label=label,
        runs=tuple(dict.fromkeys(point.run for point in points)),
        clock=first.clock,
        points=tuple(points),
        choice=choose(kind, fair, not simulated) if fair else _NO_FAIR,
        missing=_missing(failed, summaries),
        kind=kind,
        rate=rate,
    )


_NO_FAIR = Choice((), None, "cannot tell: all points are oversubscribed or disturbed")


def _times(summary: Summary, kind: str, rate: bool, factor: float) -> Floats:
    """Return T of each launch: the time for equal work, in total (strong) or per rank (weak)."""
    values = np.array(summary.launch_medians, dtype=np.float64)
    if not rate:
        return values
    return (summary.ranks if kind == "weak" else 1.0) / (values * factor)


def ratio_of(above: Floats, below: Floats, clock: str) -> tuple[Ratio, str]:
    """Return the ratio of the medians of two samples of launches with its bounds, and what these mean."""
    value = float(np.median(above) / np.median(below))
    if clock == "simulated" or min(len(above), len(below)) < 2 or min(above.min(), below.min()) <= 0:
        return Ratio(value), ""
    if min(len(above), len(below)) >= MIN_LAUNCHES:
        _, low, high, _ = shifts(np.log(below)[None, :], np.log(above)[None, :])
        ends, meaning = (float(np.exp(low[0])), float(np.exp(high[0]))), "95 %"
    else:
        ends = float(above.min() / below.max()), float(above.max() / below.min())
        meaning = f"range of {len(above)} and {len(below)} launches"
    return Ratio(value, min(value, ends[0]), max(value, ends[1])), meaning


def _mapped(ratio: Ratio, of: Callable[[float], float]) -> Ratio:
    if ratio.bounds is None:
        return Ratio(of(ratio.value))
    low, high = sorted(map(of, ratio.bounds))
    return Ratio(of(ratio.value), low, high)


def _over(k: float, speedup: float) -> float:
    return speedup / k


def _serial(speedup: Ratio, k: float, kind: str) -> Ratio:
    if kind == "weak":
        return _mapped(speedup, lambda s: (k - s) / (k - 1))
    return _mapped(speedup, lambda s: (1 / s - 1 / k) / (1 - 1 / k))


def _missing(failed: Iterable[Row], summaries: Sequence[Summary]) -> tuple[tuple[int, str], ...]:
    """Return numbers of ranks on which the same case gave no result, with the reasons."""
    first, there = summaries[0], {one.ranks for one in summaries}
    found: dict[int, str] = {}
    for row in failed:
        same = row.benchmark == first.benchmark and row.bytes == first.bytes and row.axes == first.axes
        if same and row.ranks not in there:
            found.setdefault(row.ranks, row.failure)
    return tuple(sorted(found.items()))
