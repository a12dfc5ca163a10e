"""The charts of the scaling page: values, speedup, efficiency, performance per watt, and energy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from kiviat.analysis.scaling.curve import Curve, Point, Ratio
from kiviat.analysis.scaling.laws import Fit
from kiviat.analysis.scaling.reading import Reading
from kiviat.analysis.scaling.series import Study
from kiviat.record.units import format_value, three_digits
from kiviat.report.html.figure import Colour, Figure, Line, Panel, RunLabel

_STEPS = 48  # points of a law's curve
_SAYS_NOTHING = 10.0  # a band wider than this factor is not drawn
_LABELS = Mapping[str, tuple[int, RunLabel]]

Bounded = tuple[float, tuple[float, float] | None]  # a value and its interval


def figures_of(group: Sequence[Reading], labels: _LABELS, machines: int) -> list[Figure]:
    """Return the charts of one benchmark, metric and kind, with a panel for each size or setting."""
    study = group[0].study
    metric = study.metric.replace("_", " ")
    scaled = "scaled speedup" if study.kind == "weak" else "speedup"
    points = [point for one in group for curve in one.study.curves for point in curve.points]
    single = study.title if len(group) == 1 else study.benchmark
    drawn = [
        _figure(
            group,
            "value",
            f"{single}: {metric} against ranks",
            "bars: minimum to maximum sample" if any(map(_extremes, points)) else "",
            study.unit,
            True,
            lambda one: _values(one, labels, machines),
        ),
        _figure(
            group,
            "normalised",
            f"{single}: {scaled}",
            "over its own on the fewest ranks",
            "1",
            True,
            lambda one: _ratios(one, labels, machines, lambda point: point.speedup, 1.0, ideal=True),
        ),
        _figure(
            group,
            "efficiency",
            f"{single}: parallel efficiency",
            "100 %: ideal",
            "%",
            False,
            lambda one: _ratios(one, labels, machines, lambda point: point.efficiency, 100.0),
        ),
    ]
    drawn += [
        _figure(
            group,
            name,
            f"{single}: {title}",
            conditions,
            unit,
            True,
            partial(_by_sockets, labels=labels, machines=machines, of=of),
            x="sockets",
        )
        for name, title, conditions, unit, of in (
            ("watt", f"{metric} per watt against sockets in use", "", study.unit, _per_watt),
            ("joules", "energy to solution against sockets in use", "", "J", _joules),
        )
        if any(point.sockets is not None and of(point) is not None for point in points)
    ]
    return drawn


def _figure(
    group: Sequence[Reading],
    name: str,
    title: str,
    conditions: str,
    unit: str,
    log: bool,
    lines: Callable[[Reading], tuple[Line, ...]],
    x: str = "ranks",
) -> Figure:
    panels = tuple(Panel(one.study.title, (), of_one) for one in group if (of_one := lines(one)))
    words = "; ".join(_words(line, x, unit) for line in panels[-1].lines if not line.smooth)
    return Figure(name, "scaling", title, conditions, x, unit, log, words, panels)


def _words(line: Line, x: str, unit: str) -> str:
    ends = dict.fromkeys((line.points[0], line.points[-1]))
    described = (f"{format_value(value, unit)} at {at:g} {x}" for at, value in ends)
    return f"{line.name}: {' to '.join(described)}"


def _colour(label: RunLabel, machines: int) -> Colour:
    return (*label.colour, machines)


def _values(one: Reading, labels: _LABELS, machines: int) -> tuple[Line, ...]:
    """Return medians with their bars, and the law in the measured range, and beyond on request."""
    lines = []
    for curve, predictions in zip(one.study.curves, one.predictions, strict=True):
        points = [(point.ranks, (point.value, _extremes(point))) for point in curve.points]
        fit = curve.choice.chosen
        # Without law and bars, a line connects the marks.
        bare = fit is None and not any(map(_extremes, curve.points))
        mode = "lines+markers" if bare else "markers"
        lines.append(_marks(curve, labels, machines, points, "minimum to maximum sample", mode))
        if fit:
            asked = max((prediction.ranks for prediction in predictions), default=0)
            lines += _law(curve, fit, _colour(labels[curve.label][1], machines), asked)
    return tuple(lines)


def _extremes(point: Point) -> tuple[float, float] | None:
    if point.samples < 2 or point.least is None or point.most is None:
        return None
    return point.least, point.most


def _marks(
    curve: Curve,
    labels: _LABELS,
    machines: int,
    points: Sequence[tuple[int, Bounded]],
    meaning: str,
    mode: str = "lines+markers",
) -> Line:
    place, label = labels[curve.label]
    return Line(
        name=curve.label,
        mode=mode,
        colour=_colour(label, machines),
        symbol=place,
        points=tuple((float(at), value) for at, (value, _) in points),
        band=tuple(bounds for _, (_, bounds) in points),
        meaning=meaning,
        dash="dot" if curve.clock == "simulated" else "solid",
        hollow=curve.clock == "simulated",
    )


def _law(curve: Curve, fit: Fit, colour: Colour, asked: int) -> Iterator[Line]:
    fair = [point.ranks for point in curve.points if point.fair]
    dash = "dot" if curve.clock == "simulated" else "solid"
    yield from _smooth(curve, fit, f"{curve.label}: {fit.name}", (fair[0], fair[-1]), dash, colour)
    if asked > fair[-1]:
        name = f"{curve.label}: {fit.name}, extrapolated {three_digits(asked / fair[-1])} times"
        yield from _smooth(curve, fit, name, (fair[-1], asked), "dot" if dash == "dot" else "dash", colour)


def _smooth(
    curve: Curve, fit: Fit, name: str, ends: tuple[int, int], dash: str, colour: Colour
) -> Iterator[Line]:
    """Yield a law as a line with its band, except where the band is too wide to mean anything."""
    found = [(float(at), curve.predicted(fit, float(at))) for at in np.geomspace(*ends, _STEPS)]
    known = [
        (at, value, None if low is None or high is None else (low, high))
        for at, (value, low, high) in found
        if low is None or high is None or high < _SAYS_NOTHING * low
    ]
    if len(known) > 1:
        yield Line(
            name=name,
            mode="lines",
            colour=colour,
            symbol=0,
            points=tuple((at, value) for at, value, _ in known),
            dash=dash,
            band=tuple(bounds for _, _, bounds in known),
            meaning="95 %, if the law holds",
            smooth=True,
        )


def _ratios(
    one: Reading,
    labels: _LABELS,
    machines: int,
    of: Callable[[Point], Ratio],
    factor: float,
    ideal: bool = False,
) -> tuple[Line, ...]:
    lines = []
    for curve in one.study.curves:
        bounded = [(point.ranks, _scaled(of(point), factor)) for point in curve.points]
        meaning = " or ".join(dict.fromkeys(point.meaning for point in curve.points if point.meaning))
        lines.append(_marks(curve, labels, machines, bounded, meaning))
    if ideal:
        lines += _ideal(one.study)
    return tuple(lines)


def _scaled(ratio: Ratio, factor: float) -> Bounded:
    bounds = ratio.bounds
    return factor * ratio.value, bounds and (factor * bounds[0], factor * bounds[1])


def _ideal(study: Study) -> list[Line]:
    """Return ideal speedup, from the fewest ranks of each machine."""
    starts = dict.fromkeys(curve.points[0].ranks for curve in study.curves)
    most = max(curve.largest for curve in study.curves)
    return [
        Line(
            name="ideal" if len(starts) == 1 else f"ideal, from {start}",
            mode="lines",
            colour=("categorical", 5, 8),
            symbol=0,
            points=((float(start), 1.0), (float(most), most / start)),
            dash="longdash",
            band=(None, None),
            smooth=True,
        )
        for start in starts
    ]


def _per_watt(point: Point) -> float | None:
    return point.power.per_watt


def _joules(point: Point) -> float | None:
    return point.power.joules


def _by_sockets(
    one: Reading, labels: _LABELS, machines: int, of: Callable[[Point], float | None]
) -> tuple[Line, ...]:
    lines = []
    for curve in one.study.curves:
        known: list[tuple[int, Bounded]] = [
            (point.sockets, (value, None))
            for point in curve.points
            if point.sockets is not None and (value := of(point)) is not None
        ]
        if known:
            lines.append(_marks(curve, labels, machines, known, ""))
    return tuple(lines)
