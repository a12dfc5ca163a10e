"""LogGP parameters of each run, protocol switches, and residuals."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kiviat.analysis.aggregate.curves import curve, size_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.loggp import LogGP, fit_loggp
from kiviat.analysis.statistics.changepoints import Switch
from kiviat.record.units import format_bytes, format_value, three_digits
from kiviat.report.html.figure import Figure, Line, Panel, RunLabel

FIGURE = "fig-loggp"


@dataclass(frozen=True, slots=True)
class Piece:
    """One protocol: its sizes, its line, and the residuals."""

    sizes: str
    latency: str
    per_byte: str
    median_error: float
    max_error: float


@dataclass(frozen=True, slots=True)
class Change:
    """A protocol switch in words."""

    where: str
    what: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Model:
    """The LogGP model of one run."""

    run: int
    label: str
    parameters: list[tuple[str, str, str]]  # symbol, meaning, value
    median_error: float
    max_error: float
    pieces: list[Piece]
    changes: list[Change]


def models(
    by_run: Mapping[str, Sequence[Summary]], labels: Sequence[RunLabel]
) -> tuple[list[Model], list[Figure]]:
    """Return the models of all runs with a ping-pong over sizes, and their chart."""
    found, lines = [], []
    for place, label in enumerate(labels):
        summaries = by_run.get(label.run, ())
        fitted = fit_loggp(summaries)
        if fitted:
            found.append(_model(place, label.label, fitted))
            lines += _lines(fitted, curve(summaries, "pingpong"), label, place)
    return found, [_figure(found, lines, [labels[model.run].clock for model in found])] if found else []


def _model(place: int, label: str, fitted: LogGP) -> Model:
    half = fitted.half_bandwidth_bytes
    return Model(
        run=place,
        label=label,
        parameters=[
            ("L + 2o", "time of an empty message", format_value(fitted.latency_s, "s")),
            ("g", "minimum time between messages of 8 B", format_value(fitted.gap_s, "s")),
            ("G", "time per byte of the largest messages", _per_byte(fitted.s_per_byte)),
            (
                "peak",
                f"best ping-pong bandwidth, at {format_bytes(fitted.peak_bytes)}",
                format_value(fitted.peak_bandwidth, "B/s"),
            ),
            ("n½", "size that reaches half of it", format_bytes(None if half is None else round(half))),
        ],
        median_error=fitted.median_error,
        max_error=fitted.max_error,
        pieces=[
            Piece(
                sizes=f"{format_bytes(piece.first)} to {format_bytes(piece.last)}",
                latency=format_value(piece.latency_s, "s"),
                per_byte=_per_byte(piece.s_per_byte),
                median_error=piece.median_error,
                max_error=piece.max_error,
            )
            for piece in fitted.segments
        ],
        changes=[_change(switch) for switch in fitted.switches],
    )


def _per_byte(seconds: float) -> str:
    """Return picoseconds per byte."""
    return f"{three_digits(seconds * 1e12)} ps/B"


def _change(switch: Switch) -> Change:
    factor = three_digits(switch.factor)
    return Change(
        where=f"between {format_bytes(switch.below)} and {format_bytes(switch.above)}",
        what=f"the time jumps by {factor}"
        if switch.kind == "jump"
        else f"the time per byte grows {factor} times",
        evidence=three_digits(switch.evidence),
    )


def _lines(fitted: LogGP, points: Sequence[Summary], label: RunLabel, place: int) -> list[Line]:
    colour = (*label.colour, 1)
    measured = Line(
        name=label.label,
        mode="markers",
        colour=colour,
        symbol=place,
        points=tuple((size_of(point), point.median) for point in points),
    )
    modelled = [
        Line(
            name=f"{label.label}: fit",
            mode="lines",
            colour=colour,
            dash="dot" if label.clock == "simulated" else "solid",
            symbol=place,
            points=tuple(
                (size, piece.time(size)) for size in map(size_of, points) if piece.first <= size <= piece.last
            ),
        )
        for piece in fitted.segments
    ]
    return [measured, *modelled]


def _figure(found: Sequence[Model], lines: Sequence[Line], clocks: Collection[str]) -> Figure:
    points = "predicted" if set(clocks) == {"simulated"} else "measured"
    points += " or predicted" if len(set(clocks)) > 1 and "simulated" in clocks else ""
    words = "; ".join(
        f"{model.label}: " + ", ".join(f"{symbol} {value}" for symbol, _, value in model.parameters)
        for model in found
    )
    return Figure(
        id=FIGURE,
        section="model",
        title=f"pingpong: {points} (points) and fitted (lines)",
        conditions="",
        x="bytes",
        unit="s",
        log=True,
        words=words,
        panels=(Panel("", (), tuple(lines)),),
    )
