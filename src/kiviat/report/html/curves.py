"""Curves of summaries against sizes, ranks or any axis, grouped into the panels of a chart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from kiviat.analysis.aggregate.nodes import Nodes
from kiviat.analysis.aggregate.summary import Summary
from kiviat.record.types import Scalar
from kiviat.record.units import format_value
from kiviat.report.html.axis import axis_of
from kiviat.report.html.figure import Figure, Look, Panel, RunLabel, Trace
from kiviat.report.html.panels import Key, common, evenly, looks, panels

MAX_SIZES = 6  # curves against anything but the size
_LEAST_VALUES = 3  # of an axis that is drawn

NodesOf = Callable[[str, int], Nodes | None]  # of a run and a number of ranks: the nodes of the first ranks


def unknown_nodes(run: str, ranks: int) -> None:
    """Return None: the nodes of ranks are unknown."""
    del run, ranks


def together(benchmark: str, drawn: Sequence[Figure]) -> Figure:
    """Return one chart of several quantities of a benchmark against the same axis, with a switch."""
    first = drawn[0]
    if len(drawn) == 1:
        return first
    return replace(
        first,
        title=_title(benchmark, [figure.quantity for figure in drawn], first.x),
        quantity="",
        panels=tuple(
            replace(panel, quantity=figure.quantity, unit=figure.unit)
            for figure in drawn
            for panel in figure.panels
        ),
    )


def _title(benchmark: str, quantities: Sequence[str], x: str) -> str:
    named = " and ".join(filter(None, (", ".join(quantities[:-1]), quantities[-1])))
    return f"{benchmark}: {named} against {'number of ranks' if x == 'ranks' else axis_of(x).title}"


def abscissae(summaries: Sequence[Summary]) -> list[str]:
    """Return what to draw summaries against: sizes, ranks, and axes with numbers, where they differ."""
    found = []
    if any(summary.bytes is not None for summary in summaries):
        found.append("bytes")
    if len({summary.ranks for summary in summaries}) > 1 or not found:
        found.append("ranks")
    for axis in sorted({axis for summary in summaries for axis in summary.axes}):
        values = {summary.axes.get(axis) for summary in summaries}
        numbers = {value for value in values if _is_number(value)}
        if len(numbers) >= _LEAST_VALUES:
            found.append(axis)
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def curves_of(
    table: Sequence[Summary],
    runs: Sequence[RunLabel],
    section: str,
    x: str,
    places: Sequence[int],
    nodes_of: NodesOf = unknown_nodes,
) -> Figure:
    """Return a chart of the summaries at `places`, of one benchmark and metric, against `x`."""
    places = [place for place in places if _at(table[place], x) is not None]
    if x != "bytes":
        places = _few_sizes(table, places)
    numbers = {label.run: number for number, label in enumerate(runs)}
    axes = sorted({axis for place in places for axis in table[place].axes} - {x})
    others = [name for name in ("ranks" if x == "bytes" else "bytes", "ranks") if name != x]
    dimensions = ["run", *dict.fromkeys(others), *axes]
    far = _distances([table[place] for place in places], nodes_of) if "distance" in axes else {}
    curves: dict[Key, list[int]] = defaultdict(list)
    for place in places:
        summary = table[place]
        parts = [
            far.get((summary.run, summary.axes.get(name)), summary.axes.get(name))
            if name == "distance"
            else _at(summary, name)
            for name in dimensions[1:]
        ]
        curves[numbers[summary.run], *parts].append(place)
    if far:
        dimensions[dimensions.index("distance")] = ""
    for curve in curves.values():
        curve.sort(key=lambda place: abscissa(table[place], x))
    shown = tuple(
        Panel(
            group.label,
            tuple(
                _trace(look, curves[key])
                for key, look in zip(group.keys, looks(group, dimensions, runs), strict=True)
            ),
        )
        for group in panels(curves, dimensions, runs)
    )
    first = table[places[0]]
    metric = first.metric.replace("_", " ").replace("b eff", "b_eff")
    return Figure(
        id=f"{first.benchmark}-{first.metric}-{x}",
        section=section,
        title=_title(first.benchmark, [metric], x),
        quantity=metric,
        conditions=common(list(curves), dimensions, runs),
        x=x,
        unit=first.unit,
        log=first.unit != "%",
        words="; ".join(_in_words(table, trace, x) for trace in shown[-1].traces),
        panels=shown,
    )


def abscissa(summary: Summary, x: str) -> float:
    """Return the number at which a summary is drawn."""
    value = _at(summary, x)
    assert value is not None
    return float(value)


def _at(summary: Summary, x: str) -> Scalar | None:
    """Return the size, the ranks or the value of an axis; None if an axis has no number to draw against."""
    if x in ("bytes", "ranks"):
        value: int | None = getattr(summary, x)
        return value
    return summary.axes.get(x)


def _distances(summaries: Sequence[Summary], nodes_of: NodesOf) -> dict[tuple[str, Scalar | None], str]:
    """Return "on node" or "off node" for each run and distance from rank 0, where the nodes are known."""
    where: dict[tuple[str, Scalar | None], str] = {}
    for summary in summaries:
        distance = summary.axes.get("distance")
        key = summary.run, distance
        if key not in where and isinstance(distance, int) and not isinstance(distance, bool):
            nodes = nodes_of(summary.run, distance + 1)
            if nodes is None or distance >= len(nodes.of):
                return {}
            where[key] = "on node" if nodes.of[0] == nodes.of[distance] else "off node"
    several = [(run, name) for (run, _), name in where.items()]
    if len(set(several)) == len(several):
        return where
    return {(run, distance): f"{name}, distance {distance}" for (run, distance), name in where.items()}


def _trace(look: Look, at: Sequence[int]) -> Trace:
    return Trace(look.name, look.dash, look.symbol, look.colour, tuple(at))


def _few_sizes(table: Sequence[Summary], places: Sequence[int]) -> list[int]:
    """Return the places of a few message sizes, evenly chosen from those common to all runs."""
    of_run: dict[str, set[int]] = defaultdict(set)
    for place in places:
        size = table[place].bytes
        if size is not None:
            of_run[table[place].run].add(size)
    sizes = sorted(set.intersection(*of_run.values()) or set.union(*of_run.values())) if of_run else []
    return [place for place in places if table[place].bytes in {None, *evenly(sizes, MAX_SIZES)}]


def _in_words(table: Sequence[Summary], trace: Trace, x: str) -> str:
    ends = [table[place] for place in dict.fromkeys((trace.at[0], trace.at[-1]))]
    axis = axis_of(x)
    described = (f"{format_value(end.median, end.unit)} at {axis.where(abscissa(end, x))}" for end in ends)
    return f"{trace.name}: {' to '.join(described)}"


def is_curve(figure: Figure) -> bool:
    """True if some curve has several points; tables show points alone, as numbers."""
    return any(len(trace.at) > 1 for panel in figure.panels for trace in panel.traces)
