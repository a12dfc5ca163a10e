"""The charts of the balance page: against HPL, and rooflines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kiviat.analysis.hpcc import balance
from kiviat.analysis.hpcc.quantities import System
from kiviat.analysis.hpcc.roofline import Roofline, roofline
from kiviat.record.units import format_value
from kiviat.report.balance.diagram import DASHES
from kiviat.report.html.figure import Colour, Figure, Line, Panel, RunLabel

# Figures 1 to 4: quantity of each process, ratio or not, title, unit, and the factor of that unit.
_FIGURES = (
    ("ring-hpl", "ring_bandwidth", False, "Random ring bandwidth of all processes against HPL", "B/s", 1.0),
    ("ring-ratio", "ring_bandwidth", True, "Random ring bandwidth over HPL against HPL", "B/kflop", 1e3),
    ("copy-hpl", "copy", False, "STREAM copy of all processes against HPL", "B/s", 1.0),
    ("copy-ratio", "copy", True, "STREAM copy over HPL against HPL", "B/flop", 1.0),
)


def against_hpl(systems: Sequence[System], labels: Sequence[RunLabel]) -> list[Figure]:
    """Return figures 1 to 4 of the paper, as far as there are data."""
    figures = []
    for number, (id_, quantity, ratio, title, unit, factor) in enumerate(_FIGURES, 1):
        lines = []
        for curve in balance.against_hpl(systems, quantity, ratio):
            system = systems[curve.system]
            points = tuple((hpl, value * factor) for hpl, value, _ in curve.points)
            band = tuple(
                None if bounds is None else (bounds[0] * factor, bounds[1] * factor)
                for _, _, bounds in curve.points
            )
            lines.append(
                Line(
                    name=system.name,
                    mode="lines+markers",
                    colour=_colour(labels[curve.system]),
                    symbol=curve.system,
                    points=points,
                    dash=DASHES[system.origin],
                    band=band,
                    meaning=curve.meaning,
                )
            )
        if sum(len(line.points) for line in lines) > 1:  # a single point shows nothing
            words = f"As figure {number} of Saini et al.; {len(lines)} systems."
            panel = Panel("all", (), tuple(lines))
            figures.append(Figure(id_, "hpl", title, f"figure {number}", "hpl", unit, True, words, (panel,)))
    return figures


@dataclass(frozen=True, slots=True)
class Rooflines:
    """The chart, if any, and for each system its roofline or the reason why it is missing."""

    figure: Figure | None
    lines: list[tuple[str, Roofline | str]]


def rooflines(systems: Sequence[System], labels: Sequence[RunLabel]) -> Rooflines:
    """Return one chart with a roofline per system, or why a system has none; published systems have none."""
    found = [
        (system, label, roofline(system.whole))
        for system, label in zip(systems, labels, strict=True)
        if system.origin != "published"
    ]
    panels = tuple(
        _panel(system, _colour(label), roof) for system, label, roof in found if isinstance(roof, Roofline)
    )
    figure = None
    if panels:
        words = "Roofs are star DGEMM and star STREAM triad; kernels are below them at their intensity."
        title = "Roofline: flop/s against flops per byte of memory traffic"
        figure = Figure("roofline", "roofline", title, "", "intensity", "flop/s", True, words, panels)
    return Rooflines(figure, [(system.name, roof) for system, _, roof in found])


def _panel(system: System, colour: Colour, roof: Roofline) -> Panel:
    places = [point.intensity for point in roof.points]
    first = min([roof.ridge, *places]) / 2
    last = max([roof.ridge, *places]) * 2
    dash = DASHES[system.origin]
    slope = f"STREAM triad, {format_value(roof.bandwidth, 'B/s')}"
    flat = f"DGEMM, {format_value(roof.flops, 'flop/s')}"
    roofs = [
        Line(
            slope,
            "lines",
            colour,
            0,
            ((first, first * roof.bandwidth), (roof.ridge, roof.flops)),
            dash,
            (None, None),
        ),
        Line(flat, "lines", colour, 0, ((roof.ridge, roof.flops), (last, roof.flops)), dash, (None, None)),
    ]
    points = [
        Line(
            point.kernel,
            "markers",
            (colour[0], place, len(roof.points)),
            place,
            ((point.intensity, point.rate),),
            band=(None if point.low is None or point.high is None else (point.low, point.high),),
            meaning=point.meaning,
        )
        for place, point in enumerate(roof.points)
    ]
    return Panel(system.name, (), (*roofs, *points))


def _colour(label: RunLabel) -> Colour:
    return (*label.colour, 8)
