"""Selects the tables of studies that are drawn as curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kiviat.analysis.aggregate.pair_matrices import Curve, b_eff_curves, curve_of, curves_of
from kiviat.analysis.aggregate.tables import Grid
from kiviat.record.plain import whole_number
from kiviat.record.traits import TraitsByName
from kiviat.record.units import format_value
from kiviat.report.html.figure import Figure, Line, Panel, RunLabel, numbered
from kiviat.report.html.panels import MAX_TRACES, Key, common, evenly, looks, panels


@dataclass(frozen=True, slots=True)
class Drawing:
    """Tables that are drawn as curves, each with the beginning of its panel's label.

    With several runs, only the curves named in `main` are drawn, if there are any. The last table is shown
    first. Tables with other dimensions, or with words along `x`, are not drawn.
    """

    benchmark: str
    tables: tuple[tuple[str, str], ...]
    title: str
    x: str
    curves: Callable[[Grid], Iterable[Curve]] = lambda grid: [curve_of(grid)]
    main: tuple[str, ...] = ()
    dimensions: tuple[str, ...] = ()  # of the tables; default: `x` alone


_PHASES = (("total_bandwidth", "all processes"), ("bandwidth", "per process"))
_DRAWINGS = (
    Drawing(
        "b_eff",
        (("bandwidth", ""),),
        "b_eff: bandwidth per process",
        "bytes",
        b_eff_curves,
        ("rings", "random order", "worst order"),
        ("pattern", "bytes", "method"),
    ),
    Drawing("dense_total_exchange", _PHASES, "Total exchange: bandwidth by phase", "phase"),
    Drawing("dense_pairwise", _PHASES, "Pairs at growing distance: bandwidth by phase", "phase"),
    Drawing("dense_cumulative", _PHASES, "More and more pairs: bandwidth by phase", "phase"),
    Drawing("dense_random", _PHASES, "Random pairs: bandwidth by phase", "phase"),
    Drawing("noise", (("noise", ""),), "Noise: what the system takes from each rank’s core", "rank"),
    Drawing(
        "noise",
        (("quantum", ""),),
        "Noise: time of a fixed quantum of work",
        "rank",
        curves_of,
        dimensions=("rank", "of quanta"),
    ),
    Drawing("distance", (("latency", ""),), "Latency against distance in ranks", "distance"),
    Drawing("distance", (("bandwidth", ""),), "Bandwidth against distance in ranks", "distance"),
    Drawing("fan_in", (("bandwidth", ""),), "Fan-in: bandwidth of rank 0", "senders"),
    Drawing("fan_in", (("round_trip", ""),), "Fan-in: round trip with all senders", "senders"),
    Drawing("fan_out", (("bandwidth", ""),), "Fan-out: bandwidth of rank 0", "receivers"),
    Drawing("fan_out", (("round_trip", ""),), "Fan-out: round trip with all receivers", "receivers"),
)


def study_figures(grids: Sequence[Grid], runs: Sequence[RunLabel], traits: TraitsByName) -> list[Figure]:
    """Return all figures of curves from tables, each in the section of its benchmark."""
    drawn = (
        _figure(
            drawing,
            [grid for grid in grids if grid.benchmark == drawing.benchmark],
            runs,
            traits[drawing.benchmark].section,
        )
        for drawing in _DRAWINGS
    )
    return numbered((figure for figure in drawn if figure), "study")


def _figure(drawing: Drawing, grids: Sequence[Grid], runs: Sequence[RunLabel], section: str) -> Figure | None:
    shown: list[Panel] = []
    conditions = unit = ""
    for table, label in drawing.tables:
        expected = drawing.dimensions or (drawing.x,)
        of_table = [
            grid
            for grid in grids
            if grid.name == table
            and grid.has(*expected)
            and not any(whole_number(value) is None for value in grid.values_of(drawing.x))
        ]
        axes = sorted({axis for grid in of_table for axis in grid.axes})
        curves = _curves(drawing, of_table, axes, runs)
        dimensions = ["run", "bytes", "", "ranks", *axes]
        if curves:
            shown += _panels(drawing, label, curves, dimensions, runs)
            conditions, unit = common(list(curves), dimensions, runs), of_table[0].unit
    if not shown:
        return None
    return Figure(
        id=f"{drawing.benchmark}-{drawing.tables[-1][0]}",
        section=section,
        title=drawing.title,
        conditions=conditions,
        x=drawing.x,
        unit=unit,
        log=unit != "%",
        words="; ".join(_in_words(line, unit) for line in shown[-1].lines),
        panels=tuple(shown),
    )


def _curves(
    drawing: Drawing, grids: Sequence[Grid], axes: Sequence[str], runs: Sequence[RunLabel]
) -> dict[Key, Curve]:
    numbers = {label.run: number for number, label in enumerate(runs)}
    sizes = _few_sizes(grids, len(runs))
    return {
        (numbers[grid.run], grid.bytes, curve.name, grid.ranks, *map(grid.axes.get, axes)): curve
        for grid in grids
        if grid.bytes in sizes
        for curve in drawing.curves(grid)
        if len(runs) == 1 or not drawing.main or curve.name in drawing.main
    }


def _panels(
    drawing: Drawing,
    label: str,
    curves: Mapping[Key, Curve],
    dimensions: Sequence[str],
    runs: Sequence[RunLabel],
) -> Iterator[Panel]:
    for group in panels(curves, dimensions, runs):
        styled = zip(group.keys, looks(group, dimensions, runs), strict=True)
        lines = tuple(
            Line(
                look.name,
                "markers" if drawing.x == "rank" else "lines+markers",  # ranks are not a continuous quantity
                look.colour,
                look.symbol,
                curves[key].points,
                look.dash,
                curves[key].band,
                curves[key].meaning,
            )
            for key, look in styled
        )
        yield Panel(", ".join(filter(None, (label, group.label))), (), lines)


def _few_sizes(grids: Sequence[Grid], runs: int) -> Sequence[int | None]:
    sizes = sorted({grid.bytes for grid in grids if grid.bytes is not None})
    return evenly(sizes, max(2, MAX_TRACES // max(1, runs))) or [None]


def _in_words(line: Line, unit: str) -> str:
    values = [value for _, value in line.points]
    if not values:
        return f"{line.name}: no values"
    return f"{line.name}: {format_value(min(values), unit)} to {format_value(max(values), unit)}"
