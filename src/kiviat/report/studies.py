"""Which tables of studies are drawn as curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kiviat.analysis.grids import Grid
from kiviat.analysis.patterns import Curve, b_eff_curves, curve_of, curves_of
from kiviat.record.units import format_value
from kiviat.report.figure import Figure, Line, Panel, RunLabel, numbered
from kiviat.report.panels import MAX_TRACES, Key, common, evenly, looks, panels


@dataclass(frozen=True, slots=True)
class Drawing:
    """A table that is drawn as curves; of several runs only those named in `main`, if it names any."""

    benchmark: str
    table: str
    section: str
    title: str
    x: str
    curves: Callable[[Grid], Iterable[Curve]] = lambda grid: [curve_of(grid)]
    main: tuple[str, ...] = ()


_PHASES = "bandwidth per process by phase"
_DRAWINGS = (
    Drawing(
        "b_eff",
        "bandwidth",
        "effective",
        "b_eff: bandwidth per process",
        "bytes",
        b_eff_curves,
        ("rings", "random order", "worst order"),
    ),
    Drawing("dense_total_exchange", "bandwidth", "dense", f"Total exchange: {_PHASES}", "phase"),
    Drawing("dense_pairwise", "bandwidth", "dense", f"Pairs at growing distance: {_PHASES}", "phase"),
    Drawing("dense_cumulative", "bandwidth", "dense", f"More and more pairs: {_PHASES}", "phase"),
    Drawing("dense_random", "bandwidth", "dense", f"Random pairs: {_PHASES}", "phase"),
    Drawing("noise", "noise", "overhead", "Noise: what the system takes from each rank’s core", "rank"),
    Drawing("noise", "quantum", "overhead", "Noise: time of a fixed quantum of work", "rank", curves_of),
    Drawing("distance", "latency", "pairs", "Latency against distance in ranks", "distance"),
    Drawing("distance", "bandwidth", "pairs", "Bandwidth against distance in ranks", "distance"),
)


def study_figures(grids: Sequence[Grid], runs: Sequence[RunLabel]) -> list[Figure]:
    """All figures of curves from tables."""
    drawn = []
    for drawing in _DRAWINGS:
        chosen = [g for g in grids if g.benchmark == drawing.benchmark and g.name == drawing.table]
        if chosen:
            drawn.append(_figure(drawing, chosen, runs))
    return numbered(drawn, "study")


def _figure(drawing: Drawing, grids: Sequence[Grid], runs: Sequence[RunLabel]) -> Figure:
    numbers = {label.run: number for number, label in enumerate(runs)}
    axes = sorted({axis for grid in grids for axis in grid.axes})
    shown_sizes = set(_few_sizes(grids, len(runs)))
    curves: dict[Key, Curve] = {}
    for grid in grids:
        if grid.bytes in shown_sizes:
            for curve in drawing.curves(grid):
                if len(runs) > 1 and drawing.main and curve.name not in drawing.main:
                    continue
                key = numbers[grid.run], grid.bytes, curve.name, grid.ranks, *map(grid.axes.get, axes)
                curves[key] = curve
    dimensions = ["run", "bytes", "", "ranks", *axes]
    shown = tuple(
        Panel(
            group.label,
            (),
            tuple(
                Line(
                    look.name,
                    "markers" if drawing.x == "rank" else "lines+markers",  # ranks are no continuum
                    look.colour,
                    look.symbol,
                    curves[key].points,
                    look.dash,
                    curves[key].band,
                    curves[key].meaning,
                )
                for key, look in zip(group.keys, looks(group, dimensions, runs), strict=True)
            ),
        )
        for group in panels(curves, dimensions, runs)
    )
    unit = grids[0].unit
    return Figure(
        id=f"{drawing.benchmark}-{drawing.table}",
        section=drawing.section,
        title=drawing.title,
        conditions=common(list(curves), dimensions, runs),
        x=drawing.x,
        unit=unit,
        log=unit != "%",
        words="; ".join(_in_words(line, unit) for line in shown[-1].lines),
        panels=shown,
    )


def _few_sizes(grids: Sequence[Grid], runs: int) -> Sequence[int | None]:
    sizes = sorted({grid.bytes for grid in grids if grid.bytes is not None})
    return evenly(sizes, max(2, MAX_TRACES // max(1, runs))) or [None]


def _in_words(line: Line, unit: str) -> str:
    values = [value for _, value in line.points]
    if not values:
        return f"{line.name}: no values"
    return f"{line.name}: {format_value(min(values), unit)} to {format_value(max(values), unit)}"
